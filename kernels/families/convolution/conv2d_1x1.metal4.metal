// Convolution of one tap, channels last, with Metal 4's matmul2d: pixels are rows of a matrix as they
// lie in memory, and so are filters. Nothing is left of the convolution but a product of two
// tensors (metalbench/tensor_tiles.h).
// dispatch: conv2d_1x1  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM))  threads=(32 * SIMDS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: SIMDS = 4, 8
// defaults: cuda BM = 128, BN = 128, SIMDS = 8
// dtypes: float32, float16, bfloat16
// math: fast
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/tensor_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void conv2d_1x1(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]]) {
  const uint pixels = batch * height * width;
  TensorTile<BM, BN, SIMDS, true>::multiply(matrix_tensor(x, pixels, channels),
                                            matrix_tensor(w, filters, channels),
                                            matrix_tensor(y, pixels, filters), tile);
}
