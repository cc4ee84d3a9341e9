// Logits but the count largest of each row become -inf; what equals the smallest of these stays
// too. The cut is found bit by bit, by counting what is above: exact, and a row is not sorted. One
// threadgroup a row.
// dispatch: top_k_mask  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 64, 256, 512
// dtypes: float32, float16, bfloat16
#include "metalbench/cut.h"
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

struct One {
  float4 operator()(float4) const { return float4(1.0f); }
};

[[kernel]] void top_k_mask(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                           constant int& count, uint row [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;
  threadgroup float partial[2 * (TG / 32)];
  const uint key = cut_of_row<TG>(One(), float(min(uint(count), cols)), from, cols, partial, place);
  keep_from<TG>(key, from, to, cols, place);
}
