// Gradient of a 3 x 3 convolution with respect to its filters, channels last: an implicit product
// whose depth is all output pixels, a row for each filter and a column for each tap and channel. The
// few tiles would leave a GPU empty, so the pixels are cut into SPLITS parts, each a separate product
// in a scratch of float, and a second dispatch adds them up in their order, without atomics.
// dispatch: partial_products  threadgroups=(ceil_div(9 * channels, BN), ceil_div(filters, BM), SPLITS)  threads=(128)
// dispatch: add_up  threads_in_grid=(9 * channels * filters)  threads=(64)
// scratch: partial float32 (SPLITS, filters, 9 * channels)
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
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Windows<DTYPE, Forward<Once, Along<3>, Along<3>>>;
  using Tile = Product<MatrixColumns<DTYPE>, PatchesDown<Input>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const Input input = {x, {batch, 1, height, width, channels, channels}};
  const uint pixels = input.rows(), columns = input.depth();
  const uint length = (pixels + SPLITS - 1) / SPLITS;
  const uint first = min(tile.z * length, pixels), count = min(length, pixels - first);
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({dy + ulong(first) * filters, count, filters, filters}, {input, first, count},
                   count);
  product.store(Store<float>{partial + ulong(tile.z) * filters * columns, filters, columns});
}

[[kernel]] void add_up(device const float* partial, device DTYPE* dw, constant uint& channels,
                       constant uint& filters, uint at [[thread_position_in_grid]]) {
  float sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < SPLITS; ++i) {
    sum += partial[ulong(i) * filters * 9 * channels + at];
  }
  dw[at] = DTYPE(sum);
}
