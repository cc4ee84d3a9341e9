// C = A B for square matrices, with Metal 4's matmul2d.
// The plain case of metalbench/tensor_tiles.h: SIMDS SIMD-groups hold a BM x BN tile of C as a
// cooperative tensor, and the matrix units read tiles of A and B themselves. So there is nothing to
// stage in threadgroup memory, and no depth of a tile to choose.
// dispatch: sqr_mm  threadgroups=(ceil_div(n, BN), ceil_div(n, BM))  threads=(32 * SIMDS)
// tune: BM = 64, 128
// tune: BN = 64, 128, 256
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

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void sqr_mm(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* c, constant uint& n,
    uint2 tile [[threadgroup_position_in_grid]]) {
  TensorTile<BM, BN, SIMDS>::multiply(matrix_tensor(a, n, n), matrix_tensor(b, n, n),
                                      matrix_tensor(c, n, n), tile);
}
