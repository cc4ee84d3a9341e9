// x over the mean magnitude of its row: one threadgroup a row, which keeps KEEP quads a thread of it in
// registers; the rest of a longer row is read again from the cache.
// dispatch: normalize  threadgroups=(rows)  threads=(TG)
// tune: TG = 256, 64, 128
// tune: KEEP = 4, 1, 16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

struct MeanMagnitude {
  float4 term(float4 v) const { return fabs(v); }
  float scale(float sum, uint cols) const { return float(cols) / sum; }
};

[[kernel]] void normalize(device const float* x, device float* y, constant uint& cols,
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  scale_row<TG, KEEP>(MeanMagnitude(), row_of(x, row, cols), y + ulong(row) * cols, partial, place);
}
