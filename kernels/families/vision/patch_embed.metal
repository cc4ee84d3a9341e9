// Patch embedding: a convolution as far apart as it is wide, as an implicit product. A row of A is
// a patch, found where it lies in the image (metalbench/window_products.h); the bias is added where
// the sums leave the registers.
// dispatch: patch_embed  threadgroups=(ceil_div(features, BN), ceil_div(batch * (height / 8) * (width / 8), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BUFFERS = 2
// defaults: cuda BM = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
// limits: side == 8, height % 8 == 0, width % 8 == 0
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void patch_embed(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<8, 8>, Along<8, 8>>;
  using Patches = WindowProduct<DTYPE, Steps, 8 * 8, BM, BN, BK, Biased<DTYPE>>;
  threadgroup float4 memory[Patches::kMemory];
  const Volume image = {batch, 1, height, width, channels, channels};
  const Patches product = {x, w, y, image, features, 1, {bias, features}};
  product.compute(uint3(tile, 0), memory, PLACE);
}
