// gelu(layer norm along the width of a transposed convolution), 4 x 4 x 4 taps, steps of 2,
// channels last. A line of pixels is a matrix whose columns are normalised, in place
// (metalbench/column_norm.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth + 1) * (height + 1) * (width + 1), BM), 8)  threads=(128)
// dispatch: normalise  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * (2 * depth) * (2 * height))  threads=(QUADS, DOWN)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 4, 8
// tune: KEEP = 4, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2, DOWN = 8, KEEP = 8
// defaults: cuda BUFFERS = 2, DOWN = 8, KEEP = 8
#include "metalbench/activations.h"
#include "metalbench/column_norm.h"
#include "metalbench/window_products.h"
using namespace metalbench;

// A weight and a bias for each row.
struct AffineRow {
  device const float* weight;
  device const float* bias;
  float4 operator()(float4 v, uint row, uint) const { return v * weight[row] + bias[row]; }
};

struct GeluOfAffine {
  AffineRow affine;
  float4 operator()(float4 v, uint row, uint column) const {
    return Gelu()(affine(v, row, column));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<4, 2, 1>, Along<4, 2, 1>, Along<4, 2, 1>>;
  using Convolution = WindowProduct<float, Steps, 4 * 4 * 4, BM, BN, BK, Biased<float>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {conv_transpose_bias, filters}};
  product.compute(tile, memory, PLACE);
}

[[kernel]] void normalise(device const float* layer_norm_weight,
                          device const float* layer_norm_bias, device float* y,
                          constant uint& width, constant uint& filters,
                          uint2 group [[threadgroup_position_in_grid]],
                          uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup ColumnMemory<QUADS, DOWN> memory;
  device float* line = y + ulong(group.y) * (2 * width) * filters;
  normalise_columns<QUADS, DOWN, KEEP>(GeluOfAffine{{layer_norm_weight, layer_norm_bias}}, line,
                                       line, 2 * width, filters, 1e-5f, group.x, at, memory);
}
