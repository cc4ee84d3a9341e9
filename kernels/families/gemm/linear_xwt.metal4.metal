// x W^T, tokens times weights as layers store them, with Metal 4's matmul2d. Rows of W are columns of
// the right factor, which the descriptor of the product says (metalbench/tensor_tiles.h). So
// there is no transposed copy, neither in memory nor in threadgroup memory.
// dispatch: linear_xwt  threadgroups=(ceil_div(features, BN), ceil_div(rows, BM))  threads=(32 * SIMDS)
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

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void linear_xwt(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& features, constant uint& inner, uint2 tile [[threadgroup_position_in_grid]]) {
  TensorTile<BM, BN, SIMDS, true>::multiply(matrix_tensor(x, rows, inner),
                                            matrix_tensor(w, features, inner),
                                            matrix_tensor(y, rows, features), tile);
}
