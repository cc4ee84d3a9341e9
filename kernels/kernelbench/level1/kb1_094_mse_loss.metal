// Mean squared error, a single number, in two dispatches without atomics
// (metalbench/array_sum.h): each threadgroup adds its share, one threadgroup then adds the shares.
// dispatch: add_squares  threadgroups=(ceil_div(rows * cols, 4 * TG * QUADS))  threads=(TG)
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(rows * cols, 4 * TG * QUADS))
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 16, 4, 8
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

struct SquaredDifference {
  float4 operator()(float4 a, float4 b) const { return (a - b) * (a - b); }
};

[[kernel]] void add_squares(device const float* predictions, device const float* targets,
                            device float* partial, constant uint& rows, constant uint& cols,
                            uint group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[TG / 32];
  const Place place = {thread_index, lane, simdgroup};
  const float sum = sum_of_share<TG, QUADS>(SquaredDifference(), rows * cols, group, sums, place,
                                            predictions, targets);
  if (thread_index == 0) {
    partial[group] = sum;
  }
}

[[kernel]] void finish(device const float* partial, device float* y, constant uint& rows,
                       constant uint& cols, uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[Finishers / 32];
  const Place place = {thread_index, lane, simdgroup};
  const float sum = sum_of_shares(partial, shares_of<TG, QUADS>(rows * cols), sums, place);
  if (thread_index == 0) {
    y[0] = sum / (float(rows) * float(cols));
  }
}
