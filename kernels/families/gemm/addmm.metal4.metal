// alpha A B + beta C in one kernel, with Metal 4's matmul2d (metalbench/tensor_tiles.h): C is read
// where the sums are, element by element of the cooperative tensor. So the product itself is never
// in memory.
// dispatch: addmm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(32 * SIMDS)
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

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void addmm(
    device const DTYPE* a, device const DTYPE* b, device const DTYPE* c, device DTYPE* y,
    constant uint& m, constant uint& n, constant uint& k, constant float& alpha,
    constant float& beta, uint2 tile [[threadgroup_position_in_grid]]) {
  const float of_product = alpha, of_c = beta;
  const uint cols = n;
  TensorTile<BM, BN, SIMDS>::multiply(
      matrix_tensor(a, m, k), matrix_tensor(b, k, n), matrix_tensor(y, m, n), tile,
      [=](float sum, uint row, uint column) {
        return fma(of_product, sum, of_c * float(c[ulong(row) * cols + column]));
      });
}
