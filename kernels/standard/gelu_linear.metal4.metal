// A dense layer with its activation, gelu(x W) or silu(x W) as the instance names it, with Metal 4's
// matmul2d. The activation is applied to the sums of the cooperative tensor, in registers
// (metalbench/tensor_tiles.h). So the result before it never exists in memory. Exact gelu is some 75
// instructions, and all elements of a thread are unrolled, because registers have no index. With
// eight SIMD-groups these are 16 elements, whose code fits into an instruction cache.
// dispatch: activated_linear  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(32 * SIMDS)
// instance: gelu SILU = 0
// instance: silu SILU = 1
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: SIMDS = 8, 4
// defaults: cuda BM = 128, BN = 128
// dtypes: float32, float16, bfloat16
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/activations.h"
#include "metalbench/tensor_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void activated_linear(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& inputs, constant uint& outputs, uint2 tile [[threadgroup_position_in_grid]]) {
  using Activation = conditional_t<SILU, Silu, Gelu>;
  TensorTile<BM, BN, SIMDS>::multiply(matrix_tensor(x, rows, inputs),
                                      matrix_tensor(w, inputs, outputs),
                                      matrix_tensor(y, rows, outputs), tile,
                                      [](float sum, uint, uint) { return Activation()(sum); });
}
