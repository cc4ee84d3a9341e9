// (means of 2 x 2 x 2 voxels of a transposed convolution times a, plus a bias) times b, with
// numbers a and b, 3 x 3 x 3 taps, steps of 2, channels last. In each direction a window's two
// outputs take the first tap of the next input, and the other two of the same input: the sum of a window
// is a convolution of 2 x 2 x 2 taps, into which the filters are folded first.
// check: allow few-threadgroups there are a few thousand weights
// dispatch: fold  threads_in_grid=(channels, 8, filters)  threads=(4, 8, 4)
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 1) * (height - 1) * (width - 1), BM))  threads=(128)
// scratch: folded float32 (filters, 8, channels)
// tune: BM = 64, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
#include "metalbench/window_products.h"
using namespace metalbench;

struct ScaledTwice {
  Biased<float> conv;
  device const float* inner;
  Biased<float> bias;
  device const float* outer;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(conv(v / 8.0f, row, column) * inner[0], row, column) * outer[0];
  }
};

// Taps of one direction that tap 0 or 1 of the fold is made of: from .x to .y.
static uint2 folded_from(uint tap) { return tap == 0 ? uint2(1, 3) : uint2(0, 1); }

[[kernel]] void fold(device const float* conv_transpose_weight, device float* folded,
                     constant uint& channels, uint3 at [[thread_position_in_grid]]) {
  const uint2 x = folded_from(at.y % 2);
  const uint2 y = folded_from(at.y / 2 % 2);
  const uint2 z = folded_from(at.y / 4);
  float sum = 0.0f;
  for (uint k = z.x; k < z.y; ++k) {
    for (uint j = y.x; j < y.y; ++j) {
      for (uint i = x.x; i < x.y; ++i) {
        sum += conv_transpose_weight[(at.z * 27 + (k * 3 + j) * 3 + i) * channels + at.x];
      }
    }
  }
  folded[(at.z * 8 + at.y) * channels + at.x] = sum;
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* folded, device const float* conv_transpose_bias,
    device const float* scale1, device const float* bias, device const float* scale2,
    device float* y, constant uint& batch, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Along<2>, Along<2>, Along<2>>;
  using Convolution = WindowProduct<float, Steps, 2 * 2 * 2, BM, BN, BK, ScaledTwice>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               folded,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_transpose_bias, filters}, scale1, {bias, filters}, scale2}};
  product.compute(tile, memory, PLACE);
}
