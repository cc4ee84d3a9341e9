// A small AlexNet: three times convolution, 2 x 2 maximum and relu, then two dense layers with relu
// in between.
// Convolutions are implicit matrix products whose rows are ordered by pooling window (Pool of
// metalbench/convolution.h): the four pixels of a window are neighbours in a tile, so pooling and
// relu are part of how the sums are stored, and nothing but the pooled maps, a quarter, is ever in
// memory. The dense layers have one row for each image and are bound by their weights: a SIMD-group
// makes 32 columns of one row (metalbench/dense.h).
// dispatch: first_layer  threadgroups=(ceil_div(c1, 32), ceil_div(4 * batch * ((side - 4) / 2) * ((side - 4) / 2), 32))  threads=(128)
// dispatch: second_layer  threadgroups=(ceil_div(c2, 32), ceil_div(4 * batch * (((side - 4) / 2 - 2) / 2) * (((side - 4) / 2 - 2) / 2), 32))  threads=(128)
// dispatch: third_layer  threadgroups=(ceil_div(c3, 32), ceil_div(4 * batch * ((((side - 4) / 2 - 2) / 2 - 2) / 2) * ((((side - 4) / 2 - 2) / 2 - 2) / 2), 32))  threads=(128)
// dispatch: dense  threadgroups=(ceil_div(hidden, 32), batch)  threads=(32)
// dispatch: classify  threadgroups=(ceil_div(classes, 32), batch)  threads=(32)
// scratch: first float32 (batch, (side - 4) / 2, (side - 4) / 2, c1)
// scratch: second float32 (batch, ((side - 4) / 2 - 2) / 2, ((side - 4) / 2 - 2) / 2, c2)
// scratch: third float32 (batch, (((side - 4) / 2 - 2) / 2 - 2) / 2, (((side - 4) / 2 - 2) / 2 - 2) / 2, c3)
// scratch: activated float32 (batch, hidden)
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/convolution.h"
#include "metalbench/dense.h"
#include "metalbench/tiles.h"
using namespace metalbench;

constant constexpr uint TILE = 32;
constant constexpr uint MEMORY =
    Product<MatrixRows<float>, MatrixRows<float>, TILE, TILE, BK>::kMemory;

// relu(max_pool(conv(x, w))) of square images.
template <typename T, uint KERNEL>
static void conv_pool_relu(device const T* x, device const DTYPE* w, device float* y, Volume input,
                           uint filters, uint2 tile, threadgroup float4* memory, Place place) {
  using Input = Patches<T, float, 1, KERNEL, KERNEL, false, 2>;
  const Input patches = {x, input};
  Product<Input, MatrixRows<DTYPE, float>, TILE, TILE, BK> product(tile * TILE, memory, place);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(StorePooled<float, Relu, TILE>{y, patches.rows(), filters});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void first_layer(
    device const DTYPE* x, device const DTYPE* w1, device float* first, constant uint& batch,
    constant uint& side, constant uint& c1, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  conv_pool_relu<DTYPE, 5>(x, w1, first, {batch, 1, side, side, 3, 3}, c1, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void second_layer(
    device const float* first, device const DTYPE* w2, device float* second, constant uint& batch,
    constant uint& side, constant uint& c1, constant uint& c2,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const uint pooled = (side - 4) / 2;
  conv_pool_relu<float, 3>(first, w2, second, {batch, 1, pooled, pooled, c1, c1}, c2, tile, memory,
                           PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void third_layer(
    device const float* second, device const DTYPE* w3, device float* third, constant uint& batch,
    constant uint& side, constant uint& c2, constant uint& c3,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const uint pooled = ((side - 4) / 2 - 2) / 2;
  conv_pool_relu<float, 3>(second, w3, third, {batch, 1, pooled, pooled, c2, c2}, c3, tile, memory,
                           PLACE);
}

[[kernel]] void dense(device const float* third, device const DTYPE* w4, device float* activated,
                      constant uint& side, constant uint& c3, constant uint& hidden,
                      uint2 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
  const uint pooled = (((side - 4) / 2 - 2) / 2 - 2) / 2;
  const uint inputs = pooled * pooled * c3;
  const float4 sums = dense_quad(third + group.y * inputs, w4, inputs, hidden, group.x * 32, lane);
  if (lane < 8) {
    store_quad(activated + group.y * hidden, group.x * 32 + 4 * lane, hidden, Relu()(sums));
  }
}

[[kernel]] void classify(device const float* activated, device const DTYPE* w5, device DTYPE* y,
                         constant uint& hidden, constant uint& classes,
                         uint2 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  const float4 sums =
      dense_quad(activated + group.y * hidden, w5, hidden, classes, group.x * 32, lane);
  if (lane < 8) {
    store_quad(y + group.y * classes, group.x * 32 + 4 * lane, classes, sums);
  }
}
