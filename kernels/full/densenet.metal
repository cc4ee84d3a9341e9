// A small densely connected network: stem, two layers that each see all features before them,
// global mean, dense layer.
// Concatenation moves nothing: all features of a pixel lie side by side in one buffer from the
// start, a layer reads the first channels of it and writes the next `growth` (the pitch of
// metalbench/convolution.h is wider than the channels). Each 3 x 3 convolution is an implicit
// matrix product with zeros around the image, its relu part of how the sums are stored.
// dispatch: stem  threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: second_layer  threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: third_layer  threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: average  threadgroups=(ceil_div(3 * growth, 32), batch)  threads=(8, DOWN)
// dispatch: classify  threadgroups=(ceil_div(classes, 32), batch)  threads=(32)
// scratch: features float32 (batch, height, width, 3 * growth)
// scratch: means float32 (batch, 3 * growth)
// tune: BM = 32, 64
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: DOWN = 16, 4
// defaults: cpu DOWN = 4
// defaults: cuda float32 BM = 64, BN = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/columns.h"
#include "metalbench/convolution.h"
#include "metalbench/dense.h"
#include "metalbench/joins.h"
#include "metalbench/tiles.h"
using namespace metalbench;

constant constexpr uint MEMORY = Product<MatrixRows<float>, MatrixRows<float>, BM, BN, BK>::kMemory;

// relu(conv(x, w)) as the `growth` features from `to` on of each pixel.
template <typename T>
static void grow(device const T* x, device const DTYPE* w, device float* to, Volume input,
                 uint growth, uint2 tile, threadgroup float4* memory, Place place) {
  using Input = Patches<T, float, 1, 3, 3, true>;
  const Input patches = {x, input};
  Product<Input, MatrixRows<DTYPE, float>, BM, BN, BK> product(tile * uint2(BN, BM), memory, place);
  product.multiply(patches, {w, growth, patches.depth()}, patches.depth());
  product.store(StoreSlice<float, Activated<Relu>>{to, patches.rows(), growth, 3 * growth});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void stem(
    device const DTYPE* x, device const DTYPE* w1, device float* features, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& growth,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  grow<DTYPE>(x, w1, features, {batch, 1, height, width, 3, 3}, growth, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void second_layer(
    device const DTYPE* w2, device float* features, constant uint& batch, constant uint& height,
    constant uint& width, constant uint& growth, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const Volume input = {batch, 1, height, width, growth, 3 * growth};
  grow<float>(features, w2, features + growth, input, growth, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void third_layer(
    device const DTYPE* w3, device float* features, constant uint& batch, constant uint& height,
    constant uint& width, constant uint& growth, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const Volume input = {batch, 1, height, width, 2 * growth, 3 * growth};
  grow<float>(features, w3, features + 2 * growth, input, growth, tile, memory, PLACE);
}

[[kernel]] void average(device const float* features, device float* means, constant uint& height,
                        constant uint& width, constant uint& growth,
                        uint2 group [[threadgroup_position_in_grid]],
                        uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][8];
  reduce_columns<8, DOWN>(Mean(), features, means, height * width, 3 * growth, group, at, partial);
}

[[kernel]] void classify(device const float* means, device const DTYPE* w_classes, device DTYPE* y,
                         constant uint& growth, constant uint& classes,
                         uint2 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  const uint channels = 3 * growth;
  const float4 sums =
      dense_quad(means + group.y * channels, w_classes, channels, classes, group.x * 32, lane);
  if (lane < 8) {
    store_quad(y + group.y * classes, group.x * 32 + 4 * lane, classes, sums);
  }
}
