// x W^T with weights in blocks of GGUF files (metalbench/gguf_blocks.h): a tile of the weights becomes
// elements of threadgroup memory, where the matrix units find both operands. Each code is unpacked
// once for BM rows of x.
// dispatch: qmm  threadgroups=(ceil_div(rows, BN), ceil_div(batch, BM))  threads=(128)
// instance: q4_k TYPE = 12, CODES = 256
// instance: q5_k TYPE = 13, CODES = 256
// instance: q6_k TYPE = 14, CODES = 256
// instance: q8_0 TYPE = 8, CODES = 32
// instance: iq4_nl TYPE = 20, CODES = 32
// instance: q4_0 TYPE = 2, CODES = 32
// instance: q4_1 TYPE = 3, CODES = 32
// instance: q5_0 TYPE = 6, CODES = 32
// instance: q5_1 TYPE = 7, CODES = 32
// instance: q2_k TYPE = 10, CODES = 256
// instance: q3_k TYPE = 11, CODES = 256
// instance: iq4_xs TYPE = 23, CODES = 256
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % CODES == 0, rows * cols / 32 * 34 <= 4294967295
#include "metalbench/epilogues.h"
#include "metalbench/gguf_blocks.h"
#include "metalbench/quantised_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void qmm(
    device const DTYPE* x, device const uchar* w, device DTYPE* y, constant uint& batch,
    constant uint& rows, constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, QuantisedRows<Block<TYPE>, DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, batch, cols}, {{w, cols}, rows}, cols);
  product.store(Store<DTYPE>{y, batch, rows});
}
