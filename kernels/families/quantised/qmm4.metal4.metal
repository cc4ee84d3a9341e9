// x W^T with weights of 2 to 8 bits, with Metal 4's matmul2d: a tile of the weights becomes elements
// of threadgroup memory, which the matrix units read as a tensor (metalbench/tensor_staging.h). Each
// code is unpacked once for BM rows of x, which the units read from device memory themselves: so
// tiles that are high pay.
// dispatch: qmm  threadgroups=(ceil_div(rows, BN), ceil_div(batch, BM))  threads=(32 * SIMDS)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: BM = 64, 32, 128
// tune: BN = 64, 32
// tune: BK = 32, 64
// tune: SIMDS = 4, 8
// tune: HALVES = 1, 0
// defaults: cpu BM = 32, HALVES = 0
// defaults: cuda BM = 128, HALVES = 0
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % GROUP == 0, rows * cols / 4 <= 4294967295
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/quantised_tiles.h"
#include "metalbench/tensor_staging.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void qmm(
    device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
    device const DTYPE* w_biases, device DTYPE* y, constant uint& batch, constant uint& rows,
    constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  using Tile = StagedTile<BM, BN, BK, SIMDS, false>;
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  threadgroup float4 memory[Tile::kMemory * sizeof(DTYPE) / sizeof(float4)];
  const QuantisedRows<Format, DTYPE, HALVES> weights = {{w, {w_scales, w_biases}, cols}, rows};
  Tile::multiply(weights, matrix_tensor(x, batch, cols), cols, matrix_tensor(y, batch, rows), tile,
                 (threadgroup DTYPE*)memory, thread_index);
}
