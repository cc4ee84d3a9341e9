// A U-Net with softmax along the width. A double convolution is twice: the product, whose tiles leave the
// moments of their channels (metalbench/window_norms.h), their join, and a softmax over each line of pixels
// that norms what it reads (metalbench/column_softmax.h). Skips are never copied: the softmax of an
// encoder and the transposed convolution of its decoder write two halves of the channels of one buffer.
// let: pixels = batch * height * width
// dispatch: convolve(from = x, weight = encoder1_double_conv_0_weight, bias = encoder1_double_conv_0_bias, rows = height, cols = width, channels = channels, pitch = channels, features = filters)  threadgroups=(ceil_div(filters, BN), ceil_div(pixels, BM))  threads=(128)
// dispatch: join(count = pixels, features = filters)  threadgroups=(filters)  threads=(TG)
// dispatch: soften(weight = encoder1_double_conv_1_weight, bias = encoder1_double_conv_1_bias, to = between, cols = width, features = filters, pitch = filters, offset = 0)  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = encoder1_double_conv_3_weight, bias = encoder1_double_conv_3_bias, rows = height, cols = width, channels = filters, pitch = filters, features = filters)  threadgroups=(ceil_div(filters, BN), ceil_div(pixels, BM))  threads=(128)
// dispatch: join(count = pixels, features = filters)  threadgroups=(filters)  threads=(TG)
// dispatch: soften(weight = encoder1_double_conv_4_weight, bias = encoder1_double_conv_4_bias, to = joined1, cols = width, features = filters, pitch = 2 * filters, offset = filters)  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: pool(from = joined1, cols = width / 2, filter_count = filters)  threads_in_grid=(ceil_div(filters, 4), width / 2, batch * (height / 2))  threads=(QUADS, DOWN)
// dispatch: convolve(from = features, weight = encoder2_double_conv_0_weight, bias = encoder2_double_conv_0_bias, rows = height / 2, cols = width / 2, channels = filters, pitch = filters, features = 2 * filters)  threadgroups=(ceil_div(2 * filters, BN), ceil_div(pixels / 4, BM))  threads=(128)
// dispatch: join(count = pixels / 4, features = 2 * filters)  threadgroups=(2 * filters)  threads=(TG)
// dispatch: soften(weight = encoder2_double_conv_1_weight, bias = encoder2_double_conv_1_bias, to = between, cols = width / 2, features = 2 * filters, pitch = 2 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(2 * filters, 4), QUADS), batch * height / 2)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = encoder2_double_conv_3_weight, bias = encoder2_double_conv_3_bias, rows = height / 2, cols = width / 2, channels = 2 * filters, pitch = 2 * filters, features = 2 * filters)  threadgroups=(ceil_div(2 * filters, BN), ceil_div(pixels / 4, BM))  threads=(128)
// dispatch: join(count = pixels / 4, features = 2 * filters)  threadgroups=(2 * filters)  threads=(TG)
// dispatch: soften(weight = encoder2_double_conv_4_weight, bias = encoder2_double_conv_4_bias, to = joined2, cols = width / 2, features = 2 * filters, pitch = 4 * filters, offset = 2 * filters)  threadgroups=(ceil_div(ceil_div(2 * filters, 4), QUADS), batch * height / 2)  threads=(QUADS, DOWN)
// dispatch: pool(from = joined2, cols = width / 4, filter_count = 2 * filters)  threads_in_grid=(ceil_div(2 * filters, 4), width / 4, batch * (height / 4))  threads=(QUADS, DOWN)
// dispatch: convolve(from = features, weight = encoder3_double_conv_0_weight, bias = encoder3_double_conv_0_bias, rows = height / 4, cols = width / 4, channels = 2 * filters, pitch = 2 * filters, features = 4 * filters)  threadgroups=(ceil_div(4 * filters, BN), ceil_div(pixels / 16, BM))  threads=(128)
// dispatch: join(count = pixels / 16, features = 4 * filters)  threadgroups=(4 * filters)  threads=(TG)
// dispatch: soften(weight = encoder3_double_conv_1_weight, bias = encoder3_double_conv_1_bias, to = between, cols = width / 4, features = 4 * filters, pitch = 4 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(4 * filters, 4), QUADS), batch * height / 4)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = encoder3_double_conv_3_weight, bias = encoder3_double_conv_3_bias, rows = height / 4, cols = width / 4, channels = 4 * filters, pitch = 4 * filters, features = 4 * filters)  threadgroups=(ceil_div(4 * filters, BN), ceil_div(pixels / 16, BM))  threads=(128)
// dispatch: join(count = pixels / 16, features = 4 * filters)  threadgroups=(4 * filters)  threads=(TG)
// dispatch: soften(weight = encoder3_double_conv_4_weight, bias = encoder3_double_conv_4_bias, to = joined3, cols = width / 4, features = 4 * filters, pitch = 8 * filters, offset = 4 * filters)  threadgroups=(ceil_div(ceil_div(4 * filters, 4), QUADS), batch * height / 4)  threads=(QUADS, DOWN)
// dispatch: pool(from = joined3, cols = width / 8, filter_count = 4 * filters)  threads_in_grid=(ceil_div(4 * filters, 4), width / 8, batch * (height / 8))  threads=(QUADS, DOWN)
// dispatch: convolve(from = features, weight = encoder4_double_conv_0_weight, bias = encoder4_double_conv_0_bias, rows = height / 8, cols = width / 8, channels = 4 * filters, pitch = 4 * filters, features = 8 * filters)  threadgroups=(ceil_div(8 * filters, BN), ceil_div(pixels / 64, BM))  threads=(128)
// dispatch: join(count = pixels / 64, features = 8 * filters)  threadgroups=(8 * filters)  threads=(TG)
// dispatch: soften(weight = encoder4_double_conv_1_weight, bias = encoder4_double_conv_1_bias, to = between, cols = width / 8, features = 8 * filters, pitch = 8 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(8 * filters, 4), QUADS), batch * height / 8)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = encoder4_double_conv_3_weight, bias = encoder4_double_conv_3_bias, rows = height / 8, cols = width / 8, channels = 8 * filters, pitch = 8 * filters, features = 8 * filters)  threadgroups=(ceil_div(8 * filters, BN), ceil_div(pixels / 64, BM))  threads=(128)
// dispatch: join(count = pixels / 64, features = 8 * filters)  threadgroups=(8 * filters)  threads=(TG)
// dispatch: soften(weight = encoder4_double_conv_4_weight, bias = encoder4_double_conv_4_bias, to = joined4, cols = width / 8, features = 8 * filters, pitch = 16 * filters, offset = 8 * filters)  threadgroups=(ceil_div(ceil_div(8 * filters, 4), QUADS), batch * height / 8)  threads=(QUADS, DOWN)
// dispatch: pool(from = joined4, cols = width / 16, filter_count = 8 * filters)  threads_in_grid=(ceil_div(8 * filters, 4), width / 16, batch * (height / 16))  threads=(QUADS, DOWN)
// dispatch: convolve(from = features, weight = bottleneck_double_conv_0_weight, bias = bottleneck_double_conv_0_bias, rows = height / 16, cols = width / 16, channels = 8 * filters, pitch = 8 * filters, features = 16 * filters)  threadgroups=(ceil_div(16 * filters, BN), ceil_div(pixels / 256, BM))  threads=(128)
// dispatch: join(count = pixels / 256, features = 16 * filters)  threadgroups=(16 * filters)  threads=(TG)
// dispatch: soften(weight = bottleneck_double_conv_1_weight, bias = bottleneck_double_conv_1_bias, to = between, cols = width / 16, features = 16 * filters, pitch = 16 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(16 * filters, 4), QUADS), batch * height / 16)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = bottleneck_double_conv_3_weight, bias = bottleneck_double_conv_3_bias, rows = height / 16, cols = width / 16, channels = 16 * filters, pitch = 16 * filters, features = 16 * filters)  threadgroups=(ceil_div(16 * filters, BN), ceil_div(pixels / 256, BM))  threads=(128)
// dispatch: join(count = pixels / 256, features = 16 * filters)  threadgroups=(16 * filters)  threads=(TG)
// dispatch: soften(weight = bottleneck_double_conv_4_weight, bias = bottleneck_double_conv_4_bias, to = features, cols = width / 16, features = 16 * filters, pitch = 16 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(16 * filters, 4), QUADS), batch * height / 16)  threads=(QUADS, DOWN)
// dispatch: raise(weight = upconv4_weight, bias = upconv4_bias, to = joined4, rows = pixels / 256, cols = width / 16, channels = 16 * filters, filter_count = 8 * filters)  threadgroups=(ceil_div(8 * filters, BN), ceil_div(pixels / 256, BM), 4)  threads=(128)
// dispatch: convolve(from = joined4, weight = decoder4_double_conv_0_weight, bias = decoder4_double_conv_0_bias, rows = height / 8, cols = width / 8, channels = 16 * filters, pitch = 16 * filters, features = 8 * filters)  threadgroups=(ceil_div(8 * filters, BN), ceil_div(pixels / 64, BM))  threads=(128)
// dispatch: join(count = pixels / 64, features = 8 * filters)  threadgroups=(8 * filters)  threads=(TG)
// dispatch: soften(weight = decoder4_double_conv_1_weight, bias = decoder4_double_conv_1_bias, to = between, cols = width / 8, features = 8 * filters, pitch = 8 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(8 * filters, 4), QUADS), batch * height / 8)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = decoder4_double_conv_3_weight, bias = decoder4_double_conv_3_bias, rows = height / 8, cols = width / 8, channels = 8 * filters, pitch = 8 * filters, features = 8 * filters)  threadgroups=(ceil_div(8 * filters, BN), ceil_div(pixels / 64, BM))  threads=(128)
// dispatch: join(count = pixels / 64, features = 8 * filters)  threadgroups=(8 * filters)  threads=(TG)
// dispatch: soften(weight = decoder4_double_conv_4_weight, bias = decoder4_double_conv_4_bias, to = features, cols = width / 8, features = 8 * filters, pitch = 8 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(8 * filters, 4), QUADS), batch * height / 8)  threads=(QUADS, DOWN)
// dispatch: raise(weight = upconv3_weight, bias = upconv3_bias, to = joined3, rows = pixels / 64, cols = width / 8, channels = 8 * filters, filter_count = 4 * filters)  threadgroups=(ceil_div(4 * filters, BN), ceil_div(pixels / 64, BM), 4)  threads=(128)
// dispatch: convolve(from = joined3, weight = decoder3_double_conv_0_weight, bias = decoder3_double_conv_0_bias, rows = height / 4, cols = width / 4, channels = 8 * filters, pitch = 8 * filters, features = 4 * filters)  threadgroups=(ceil_div(4 * filters, BN), ceil_div(pixels / 16, BM))  threads=(128)
// dispatch: join(count = pixels / 16, features = 4 * filters)  threadgroups=(4 * filters)  threads=(TG)
// dispatch: soften(weight = decoder3_double_conv_1_weight, bias = decoder3_double_conv_1_bias, to = between, cols = width / 4, features = 4 * filters, pitch = 4 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(4 * filters, 4), QUADS), batch * height / 4)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = decoder3_double_conv_3_weight, bias = decoder3_double_conv_3_bias, rows = height / 4, cols = width / 4, channels = 4 * filters, pitch = 4 * filters, features = 4 * filters)  threadgroups=(ceil_div(4 * filters, BN), ceil_div(pixels / 16, BM))  threads=(128)
// dispatch: join(count = pixels / 16, features = 4 * filters)  threadgroups=(4 * filters)  threads=(TG)
// dispatch: soften(weight = decoder3_double_conv_4_weight, bias = decoder3_double_conv_4_bias, to = features, cols = width / 4, features = 4 * filters, pitch = 4 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(4 * filters, 4), QUADS), batch * height / 4)  threads=(QUADS, DOWN)
// dispatch: raise(weight = upconv2_weight, bias = upconv2_bias, to = joined2, rows = pixels / 16, cols = width / 4, channels = 4 * filters, filter_count = 2 * filters)  threadgroups=(ceil_div(2 * filters, BN), ceil_div(pixels / 16, BM), 4)  threads=(128)
// dispatch: convolve(from = joined2, weight = decoder2_double_conv_0_weight, bias = decoder2_double_conv_0_bias, rows = height / 2, cols = width / 2, channels = 4 * filters, pitch = 4 * filters, features = 2 * filters)  threadgroups=(ceil_div(2 * filters, BN), ceil_div(pixels / 4, BM))  threads=(128)
// dispatch: join(count = pixels / 4, features = 2 * filters)  threadgroups=(2 * filters)  threads=(TG)
// dispatch: soften(weight = decoder2_double_conv_1_weight, bias = decoder2_double_conv_1_bias, to = between, cols = width / 2, features = 2 * filters, pitch = 2 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(2 * filters, 4), QUADS), batch * height / 2)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = decoder2_double_conv_3_weight, bias = decoder2_double_conv_3_bias, rows = height / 2, cols = width / 2, channels = 2 * filters, pitch = 2 * filters, features = 2 * filters)  threadgroups=(ceil_div(2 * filters, BN), ceil_div(pixels / 4, BM))  threads=(128)
// dispatch: join(count = pixels / 4, features = 2 * filters)  threadgroups=(2 * filters)  threads=(TG)
// dispatch: soften(weight = decoder2_double_conv_4_weight, bias = decoder2_double_conv_4_bias, to = features, cols = width / 2, features = 2 * filters, pitch = 2 * filters, offset = 0)  threadgroups=(ceil_div(ceil_div(2 * filters, 4), QUADS), batch * height / 2)  threads=(QUADS, DOWN)
// dispatch: raise(weight = upconv1_weight, bias = upconv1_bias, to = joined1, rows = pixels / 4, cols = width / 2, channels = 2 * filters, filter_count = filters)  threadgroups=(ceil_div(filters, BN), ceil_div(pixels / 4, BM), 4)  threads=(128)
// dispatch: convolve(from = joined1, weight = decoder1_double_conv_0_weight, bias = decoder1_double_conv_0_bias, rows = height, cols = width, channels = 2 * filters, pitch = 2 * filters, features = filters)  threadgroups=(ceil_div(filters, BN), ceil_div(pixels, BM))  threads=(128)
// dispatch: join(count = pixels, features = filters)  threadgroups=(filters)  threads=(TG)
// dispatch: soften(weight = decoder1_double_conv_1_weight, bias = decoder1_double_conv_1_bias, to = between, cols = width, features = filters, pitch = filters, offset = 0)  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: convolve(from = between, weight = decoder1_double_conv_3_weight, bias = decoder1_double_conv_3_bias, rows = height, cols = width, channels = filters, pitch = filters, features = filters)  threadgroups=(ceil_div(filters, BN), ceil_div(pixels, BM))  threads=(128)
// dispatch: join(count = pixels, features = filters)  threadgroups=(filters)  threads=(TG)
// dispatch: soften(weight = decoder1_double_conv_4_weight, bias = decoder1_double_conv_4_bias, to = features, cols = width, features = filters, pitch = filters, offset = 0)  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: answer  threadgroups=(ceil_div(classes, 32), ceil_div(pixels, BM))  threads=(128)
// scratch: sums float32 (pixels, filters)
// scratch: between float32 (pixels, filters)
// scratch: features float32 (pixels, filters)
// scratch: joined1 float32 (pixels, 2 * filters)
// scratch: joined2 float32 (pixels / 4, 4 * filters)
// scratch: joined3 float32 (pixels / 16, 8 * filters)
// scratch: joined4 float32 (pixels / 64, 16 * filters)
// scratch: shares float32 (max(ceil_div(pixels, BM), 16), filters, 4)
// scratch: moments float32 (16 * filters, 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: TG = 64, 32, 256
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, TG = 32, QUADS = 4, DOWN = 8
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: height % 16 == 0, width % 16 == 0
#include "metalbench/column_softmax.h"
#include "metalbench/linear.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

// Biases are arguments because the task has them. Neither is added: that of the convolution leaves with
// the mean, that of the norm shifts all pixels of a line alike, which no softmax sees. Numbers would
// lose digits to both.
[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* from, device const float* weight, device const float* bias,
    device float* sums, device float* shares,
    constant uint& batch, constant uint& rows, constant uint& cols, constant uint& channels,
    constant uint& pitch, constant uint& features, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3, 1, 1>, Along<3, 1, 1>>;
  using Convolution = WindowMoments<Steps, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      from, weight, sums, shares, {batch, 1, rows, cols, channels, pitch}, features, {}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void join(
    device const float* shares, device float* moments, constant uint& count,
    constant uint& features, uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  join_moments<TG / 32>(shares, moments, (count + BM - 1) / BM, features, features, 1e-5f, index,
                        memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void soften(
    device const float* sums, device const float* moments, device const float* weight,
    device const float* bias, device float* to, constant uint& cols, constant uint& features, constant uint& pitch,
    constant uint& offset, uint2 group [[threadgroup_position_in_grid]],
    uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup ColumnSoftmaxMemory<QUADS, DOWN> memory;
  const ulong first = ulong(group.y) * cols;
  const StandardColumns columns = {sums + first * features, moments, weight, features};
  softmax_columns<QUADS, DOWN>(columns, to + first * pitch + offset, cols, features, pitch,
                               group.x, at, memory);
}

// Maxima of 2 x 2 pixels of the second half of the channels.
[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void pool(
    device const float* from, device float* features, constant uint& cols,
    constant uint& filter_count, uint3 place [[thread_position_in_grid]]) {
  const uint column = 4 * place.x, pitch = 2 * filter_count;
  device const float* above = from + ulong(place.z) * 4 * cols * pitch +
                              2 * place.y * pitch + filter_count;
  device const float* below = above + 2 * cols * pitch;
  const float4 upper = max(load_quad(above, column, filter_count),
                           load_quad(above + pitch, column, filter_count));
  const float4 lower = max(load_quad(below, column, filter_count),
                           load_quad(below + pitch, column, filter_count));
  store_quad(features + (ulong(place.z) * cols + place.y) * filter_count, column, filter_count,
             max(upper, lower));
}

// An epilogue (epilogues.h): a pixel of a line of `cols` becomes one of four, in the first half of the
// channels.
struct StoreRaised {
  device float* to;
  uint rows;
  uint cols;
  uint2 tap;
  Biased<float> bias;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < rows && column < bias.cols) {
      const uint line = row / cols;
      const uint pixel = (2 * line + tap.y) * 2 * cols + 2 * (row - line * cols) + tap.x;
      store_quad(to + ulong(pixel) * 2 * bias.cols, column, bias.cols, bias(*sums, row, column));
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void raise(
    device const float* features, device const float* weight, device const float* bias,
    device float* to, constant uint& rows, constant uint& cols, constant uint& channels,
    constant uint& filter_count, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, SlicedRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({features, rows, channels},
                   {weight + tile.z * channels, filter_count, channels, 4 * channels}, channels);
  product.store(StoreRaised{to, rows, cols, uint2(tile.z % 2, tile.z / 2), {bias, filter_count}});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void answer(
    device const float* features, device const float* final_conv_weight,
    device const float* final_conv_bias, device float* y, constant uint& pixels,
    constant uint& filters, constant uint& classes, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Layer = Linear<BM, 32, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {features, final_conv_weight, pixels, filters, classes};
  layer.store(y, Biased<float>{final_conv_bias, classes}, tile, memory, PLACE);
}
