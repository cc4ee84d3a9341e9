// x over the root of the sum of all squares, in three dispatches: threadgroups add a share each, one
// threadgroup adds the shares and takes the root, all elements are divided by it.
// dispatch: sum_squares  threadgroups=(ceil_div(batch * height * width * channels, 4 * TG * QUADS))  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// dispatch: divide  threads_in_grid=(ceil_div(batch * height * width * channels, 4))  threads=(TG)
// scratch: partial float32 (ceil_div(batch * height * width * channels, 4 * TG * QUADS))
// scratch: norm float32 (1)
// tune: TG = 256, 64, 128
// tune: QUADS = 16, 4, 8
// limits: batch * height * width * channels <= 4294967292
#include "metalbench/array_sum.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Square {
  float4 operator()(float4 a) const { return a * a; }
};

struct Over {
  float norm;
  template <typename T>
  T operator()(T x) const {
    return x / norm;
  }
};

[[kernel]] void sum_squares(device const float* x, device float* partial, constant uint& batch,
                            constant uint& height, constant uint& width, constant uint& channels,
                            uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float sums[TG / 32];
  const uint count = batch * height * width * channels;
  store_share<TG, QUADS>(Square(), count, group, partial, sums, PLACE, x);
}

[[kernel]] void finish(device const float* partial, device float* norm, constant uint& batch,
                       constant uint& height, constant uint& width, constant uint& channels,
                       PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const uint shares = shares_of<TG, QUADS>(batch * height * width * channels);
  const float sum = sum_of_shares(partial, shares, sums, PLACE);
  if (thread_index == 0) {
    norm[0] = precise::sqrt(sum);
  }
}

[[kernel]] void divide(device const float* x, device const float* norm, device float* y,
                       constant uint& batch, constant uint& height, constant uint& width,
                       constant uint& channels, uint i [[thread_position_in_grid]]) {
  elementwise(Over{norm[0]}, y, batch * height * width * channels, i, x);
}
