// C = A B for matrices of any shape, with Metal 4's matmul2d: as sqr_mm, the plain product of
// metalbench/tensor_tiles.h. The depth may be far larger than the sides of C. All sums of it stay in
// the cooperative tensor, so C is written once and no second dispatch adds parts of sums.
// dispatch: rect_mm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(32 * SIMDS)
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

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void rect_mm(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* c, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]]) {
  TensorTile<BM, BN, SIMDS>::multiply(matrix_tensor(a, m, k), matrix_tensor(b, k, n),
                                      matrix_tensor(c, m, n), tile);
}
