// The sum of a whole array in two dispatches without atomics: threadgroups add a share each, in
// float whatever the elements are, so that halves neither overflow on the way nor stop growing; one
// threadgroup then adds their sums. The tree's shape is fixed: equal bits each time.
// dispatch: first  threadgroups=(ceil_div(rows * cols, 4 * TG * QUADS))  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(rows * cols, 4 * TG * QUADS))
// tune: TG = 256, 64, 128
// tune: QUADS = 16, 4, 8, 32
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void first(device const DTYPE* x, device float* partial, constant uint& rows,
                      constant uint& cols, uint group [[threadgroup_position_in_grid]],
                      PLACE_ARGUMENTS) {
  threadgroup float memory[TG / 32];
  store_share<TG, QUADS>(Identity(), rows * cols, group, partial, memory, PLACE, x);
}

[[kernel]] void finish(device const float* partial, device DTYPE* y, constant uint& rows,
                       constant uint& cols, PLACE_ARGUMENTS) {
  threadgroup float memory[Finishers / 32];
  const uint shares = shares_of<TG, QUADS>(rows * cols);
  const float sum = sum_of_shares(partial, shares, memory, PLACE);
  if (thread_index == 0) {
    y[0] = DTYPE(sum);
  }
}
