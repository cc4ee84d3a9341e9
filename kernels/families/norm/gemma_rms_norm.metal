// Row root-mean-square norm with weights that are stored as their distance from one, as Gemma's
// are: y = x / rms(x) (1 + w). The one is added in float, so that small weights of half width lose
// nothing by it. One threadgroup per row, the row read once into registers.
// dispatch: gemma_rms_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/weighted_norm.h"
using namespace metal;
using namespace metalbench;

struct WeightedFromOne {
  device DTYPE* y;
  device const DTYPE* weight;
  uint cols;

  void operator()(uint column, float4 v) const {
    store_quad(y, column, cols, v * (1.0f + load_quad(weight, column, cols)));
  }
};

[[kernel]] void gemma_rms_norm(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                               constant uint& cols, constant float& eps,
                               uint row [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const WeightedFromOne finish = {y + ulong(row) * cols, w, cols};
  finish_by_rms<TG, KEEP>(row_of(x, row, cols), finish, eps, partial, place);
}
