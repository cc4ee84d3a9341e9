// x W^T with weights of 2 to 8 bits, a scale and a bias a group: a tile of the weights becomes
// elements of threadgroup memory, where the matrix units find both operands. Each code is unpacked
// once for BM rows of x: with HALVES eight at a time, two by one mask.
// dispatch: qmm  threadgroups=(ceil_div(rows, BN), ceil_div(batch, BM))  threads=(128)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 32
// tune: BUFFERS = 1, 2
// tune: HALVES = 1, 0
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, HALVES = 0
// defaults: cuda BK = 32, BUFFERS = 2, HALVES = 0
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % GROUP == 0, rows * cols / 4 <= 4294967295
#include "metalbench/epilogues.h"
#include "metalbench/quantised_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void qmm(
    device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
    device const DTYPE* w_biases, device DTYPE* y, constant uint& batch, constant uint& rows,
    constant uint& cols, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  using Tile = Product<MatrixRows<DTYPE>, QuantisedRows<Format, DTYPE, HALVES>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, batch, cols}, {{w, {w_scales, w_biases}, cols}, rows}, cols);
  product.store(Store<DTYPE>{y, batch, rows});
}
