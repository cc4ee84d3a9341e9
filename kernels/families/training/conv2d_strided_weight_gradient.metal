// Gradient of a convolution with any taps, stride and padding with respect to its filters, channels
// last: as conv2d_weight_gradient, with patches of a SquareForward of windows.h, whose taps, stride
// and padding are arguments.
// dispatch: partial_products  threadgroups=(ceil_div(taps * taps * channels, BN), ceil_div(filters, BM), SPLITS)  threads=(128)
// dispatch: add_up  threads_in_grid=(taps * taps * channels * filters)  threads=(64)
// scratch: partial float32 (SPLITS, filters, taps * taps * channels)
// tune: SPLITS = 16, 4, 8, 32
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BUFFERS = 1, 2
// defaults: cpu SPLITS = 4, BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution_gradients.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void partial_products(
    device const DTYPE* x, device const DTYPE* dy, device float* partial, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    constant uint& taps, constant uint& stride, constant uint& padding, constant uint& more,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Windows<DTYPE, SquareForward>;
  using Tile = Product<MatrixColumns<DTYPE>, PatchesDown<Input>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const uint2 extents = (uint2(width, height) - 1) * stride + taps - 2 * padding + more;
  const SquareForward steps = SquareForward::of(taps, stride, padding);
  const Input input = {x, {batch, 1, extents.y, extents.x, channels, channels}, steps};
  const uint pixels = input.rows(), columns = input.depth();
  const uint length = (pixels + SPLITS - 1) / SPLITS;
  const uint first = min(tile.z * length, pixels), count = min(length, pixels - first);
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({dy + ulong(first) * filters, count, filters, filters}, {input, first, count},
                   count);
  product.store(Store<float>{partial + ulong(tile.z) * filters * columns, filters, columns});
}

[[kernel]] void add_up(device const float* partial, device DTYPE* dw, constant uint& channels,
                       constant uint& filters, constant uint& taps,
                       uint at [[thread_position_in_grid]]) {
  float sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < SPLITS; ++i) {
    sum += partial[ulong(i) * filters * taps * taps * channels + at];
  }
  dw[at] = DTYPE(sum);
}
