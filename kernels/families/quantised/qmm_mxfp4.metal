// x W^T with weights of small floats: mxfp4, mxfp8 or nvfp4. A tile of the weights becomes elements
// of threadgroup memory, where the matrix units find both operands. Each code is unpacked once for
// BM rows of x.
// dispatch: qmm  threadgroups=(ceil_div(rows, BN), ceil_div(batch, BM))  threads=(128)
// instance: mxfp4 BITS = 4, GROUP = 32
// instance: mxfp8 BITS = 8, GROUP = 32
// instance: nvfp4 BITS = 4, GROUP = 16
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % 32 == 0, rows * cols / 4 <= 4294967295
#include "metalbench/epilogues.h"
#include "metalbench/quantised_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void qmm(
    device const DTYPE* x, device const uint* w, device const uchar* w_scales, device DTYPE* y,
    constant uint& batch, constant uint& rows, constant uint& cols,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Format = SmallFloats<BITS, GROUP>;
  using Tile = PartedProduct<MatrixRows<DTYPE>, QuantisedRows<Format, DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, batch, cols}, {{w, {w_scales}, cols}, rows}, cols);
  product.tile.store(Store<DTYPE>{y, batch, rows});
}
