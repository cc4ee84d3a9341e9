// Square root of the sum of all squares of a matrix, in two dispatches: each threadgroup adds the
// squares of its share, one threadgroup then adds the shares and takes the root. A matrix without
// gaps is one long array to it.
// dispatch: sum_squares  threadgroups=(ceil_div(rows * cols, 4 * TG * QUADS))  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(rows * cols, 4 * TG * QUADS))
// tune: TG = 256, 32, 64, 128
// tune: QUADS = 16, 4, 8
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// limits: rows * cols <= 4294967292
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

struct Square {
  float4 operator()(float4 a) const { return a * a; }
};

[[kernel]] void sum_squares(device const float* x, device float* partial, constant uint& rows,
                            constant uint& cols, uint group [[threadgroup_position_in_grid]],
                            PLACE_ARGUMENTS) {
  threadgroup float sums[TG / 32];
  store_share<TG, QUADS>(Square(), rows * cols, group, partial, sums, PLACE, x);
}

[[kernel]] void finish(device const float* partial, device float* norm, constant uint& rows,
                       constant uint& cols, PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const float sum = sum_of_shares(partial, shares_of<TG, QUADS>(rows * cols), sums, PLACE);
  if (thread_index == 0) {
    norm[0] = precise::sqrt(sum);
  }
}
