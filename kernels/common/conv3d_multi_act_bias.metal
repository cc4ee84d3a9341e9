// sigmoid(gelu(leaky_relu(relu(conv)))) + bias for a 3 x 3 x 3 convolution, channels last.
// The convolution is an implicit matrix product (see conv3d); all that follows is the map through
// which its sums leave the registers. What relu leaves is not negative, so leaky relu has nothing
// to do, whatever its slope: it is left out.
// dispatch: conv3d_multi_act_bias  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
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

struct ActivatedThenBias {
  Biased<DTYPE> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(Sigmoid()(Gelu()(Relu()(v))), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv3d_multi_act_bias(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 3, 3, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, depth, height, width, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE, ActivatedThenBias>{y, patches.rows(), filters, {{bias, filters}}});
}
