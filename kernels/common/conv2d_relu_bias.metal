// relu(conv) + bias for a 3 x 3 convolution, channels last.
// The convolution is an implicit matrix product (see conv2d). Its sums are in registers when they
// are done, so activation and bias cost no trip to memory: they are the map through which the tile
// is stored.
// dispatch: conv2d_relu_bias  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/convolution.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct ReluThenBias {
  Biased<DTYPE> bias;
  float4 operator()(float4 v, uint row, uint column) const { return bias(Relu()(v), row, column); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_relu_bias(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 1, 3, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, 1, height, width, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE, ReluThenBias>{y, patches.rows(), filters, {{bias, filters}}});
}
