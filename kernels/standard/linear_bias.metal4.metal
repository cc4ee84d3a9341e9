// x W + b, a dense layer, with Metal 4's matmul2d (metalbench/tensor_tiles.h).
// The sums are a cooperative tensor, spread over the registers of all threads. The bias is added
// there, so a tile is written once. Each thread asks for the columns of its sums, because the
// device decides which ones it has.
// dispatch: linear_bias  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(32 * SIMDS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: SIMDS = 4, 8
// defaults: cpu BM = 32
// defaults: cuda BM = 128, BN = 128, SIMDS = 8
// dtypes: float32, float16, bfloat16
// math: fast
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/tensor_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void linear_bias(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& rows, constant uint& inputs, constant uint& outputs,
    uint2 tile [[threadgroup_position_in_grid]]) {
  TensorTile<BM, BN, SIMDS>::multiply(
      matrix_tensor(x, rows, inputs), matrix_tensor(w, inputs, outputs),
      matrix_tensor(y, rows, outputs), tile,
      [=](float sum, uint, uint column) { return sum + float(bias[column]); });
}
