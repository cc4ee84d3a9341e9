// A small residual network: stem, one residual block of two convolutions, global mean, dense layer.
// Each 3 x 3 convolution is an implicit matrix product with zeros around the image (Same of
// metalbench/convolution.h); relu and the residual are the map through which its sums leave the
// registers, so the block's second convolution, the addition and the relu are one dispatch. The
// mean has a threadgroup for 32 channels of an image, the dense layer a SIMD-group for 32 classes.
// dispatch: stem  threadgroups=(ceil_div(channels, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: enter_block  threadgroups=(ceil_div(channels, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: leave_block  threadgroups=(ceil_div(channels, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: average  threadgroups=(ceil_div(channels, 32), batch)  threads=(8, DOWN)
// dispatch: classify  threadgroups=(ceil_div(classes, 32), batch)  threads=(32)
// scratch: stemmed float32 (batch, height, width, channels)
// scratch: inner float32 (batch, height, width, channels)
// scratch: outer float32 (batch, height, width, channels)
// scratch: means float32 (batch, channels)
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

struct AddedThenRelu {
  Added<float> added;
  float4 operator()(float4 v, uint row, uint column) const { return Relu()(added(v, row, column)); }
};

// map(conv(x, w)), padded so that it is as large as x.
template <typename T, typename Map>
static void convolve(device const T* x, device const DTYPE* w, device float* y, Volume input,
                     uint filters, Map map, uint2 tile, threadgroup float4* memory, Place place) {
  using Input = Patches<T, float, 1, 3, 3, true>;
  const Input patches = {x, input};
  Product<Input, MatrixRows<DTYPE, float>, BM, BN, BK> product(tile * uint2(BN, BM), memory, place);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<float, Map>{y, patches.rows(), filters, map});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void stem(
    device const DTYPE* x, device const DTYPE* w_stem, device float* stemmed, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  convolve(x, w_stem, stemmed, {batch, 1, height, width, 3, 3}, channels, Activated<Relu>(), tile,
           memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void enter_block(
    device const float* stemmed, device const DTYPE* w1, device float* inner, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const Volume input = {batch, 1, height, width, channels, channels};
  convolve(stemmed, w1, inner, input, channels, Activated<Relu>(), tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void leave_block(
    device const float* inner, device const DTYPE* w2, device const float* stemmed,
    device float* outer, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& channels, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[MEMORY];
  const Volume input = {batch, 1, height, width, channels, channels};
  convolve(inner, w2, outer, input, channels, AddedThenRelu{{stemmed, channels}}, tile, memory,
           PLACE);
}

[[kernel]] void average(device const float* outer, device float* means, constant uint& height,
                        constant uint& width, constant uint& channels,
                        uint2 group [[threadgroup_position_in_grid]],
                        uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][8];
  reduce_columns<8, DOWN>(Mean(), outer, means, height * width, channels, group, at, partial);
}

[[kernel]] void classify(device const float* means, device const DTYPE* w_classes, device DTYPE* y,
                         constant uint& channels, constant uint& classes,
                         uint2 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
  const float4 sums =
      dense_quad(means + group.y * channels, w_classes, channels, classes, group.x * 32, lane);
  if (lane < 8) {
    store_quad(y + group.y * classes, group.x * 32 + 4 * lane, classes, sums);
  }
}
