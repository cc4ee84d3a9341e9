// gelu(means of 2 x 2 x 2 voxels of the layer norm along the width of a transposed convolution + a
// number), 3 x 3 x 3 taps, steps of 2, channels last. A line of pixels is a matrix whose columns
// are normalised, in place (metalbench/column_norm.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * depth * height * width, BM), 8)  threads=(128)
// dispatch: normalise  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch * (2 * depth) * (2 * height))  threads=(QUADS, DOWN)
// dispatch: average  threads_in_grid=(ceil_div(filters, 4), width, batch * depth * height)  threads=(16, 8, 1)
// scratch: sums float32 (batch, 2 * depth, 2 * height, 2 * width, filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4, 16
// tune: DOWN = 8, 4, 16
// tune: KEEP = 8, 4
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/column_norm.h"
#include "metalbench/pool.h"
#include "metalbench/window_products.h"
using namespace metalbench;

// A weight and a bias for each row.
struct AffineRow {
  device const float* weight;
  device const float* bias;
  float4 operator()(float4 v, uint row, uint) const { return v * weight[row] + bias[row]; }
};

struct BiasedThenShifted {
  Biased<float> bias;
  device const float* shift;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(v, row, column) + shift[0];
  }
};

struct GeluOfMean : Mean {
  float4 finish(float4 v, uint count) const { return Gelu()(v / float(count)); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device const float* sum_weight, device float* sums,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, BiasedThenShifted>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               sums,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_transpose_bias, filters}, sum_weight}};
  product.compute(tile, memory, PLACE);
}

[[kernel]] void normalise(device const float* norm_weight, device const float* norm_bias,
                          device float* sums, constant uint& width, constant uint& filters,
                          uint2 group [[threadgroup_position_in_grid]],
                          uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup ColumnMemory<QUADS, DOWN> memory;
  device float* line = sums + ulong(group.y) * (2 * width) * filters;
  normalise_columns<QUADS, DOWN, KEEP>(AffineRow{norm_weight, norm_bias}, line, line, 2 * width,
                                       filters, 1e-5f, group.x, at, memory);
}

[[kernel]] void average(device const float* sums, device float* y, constant uint& depth,
                        constant uint& height, constant uint& width, constant uint& filters,
                        uint3 place [[thread_position_in_grid]]) {
  pool<2, 2, 2, 2>(GeluOfMean(), sums, y, {2 * depth, 2 * height, 2 * width}, filters, place);
}
