// Mean Huber loss with delta 1, a single number: d^2/2 for |d| <= 1, else |d| - 1/2, in two dispatches without atomics
// (metalbench/array_sum.h): each threadgroup adds its share, one threadgroup then adds the shares.
// dispatch: add_losses  threadgroups=(ceil_div(rows * cols, 4 * TG * QUADS))  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(rows * cols, 4 * TG * QUADS))
// tune: TG = 256, 64, 32, 128
// tune: QUADS = 16, 4, 8
// defaults: cpu TG = 64
// defaults: cuda TG = 64
// limits: rows * cols <= 4294967292
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

struct Huber {
  float4 operator()(float4 a, float4 b) const {
    const float4 size = fabs(a - b);
    return select(size - 0.5f, 0.5f * size * size, size <= 1.0f);
  }
};

[[kernel]] void add_losses(device const float* predictions, device const float* targets,
                           device float* partial, constant uint& rows, constant uint& cols,
                           uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float sums[TG / 32];
  store_share<TG, QUADS>(Huber(), rows * cols, group, partial, sums, PLACE, predictions, targets);
}

[[kernel]] void finish(device const float* partial, device float* y, constant uint& rows,
                       constant uint& cols, PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const float sum = sum_of_shares(partial, shares_of<TG, QUADS>(rows * cols), sums, PLACE);
  if (thread_index == 0) {
    y[0] = sum / (float(rows) * float(cols));
  }
}
