// x W^T: tokens times weights as layers store them, a row for each feature. Both operands lie along
// depth, so that every quad that a thread fetches is of one row, and the tile of W is transposed
// only as matrices are loaded from threadgroup memory (metalbench/tiles.h).
// dispatch: linear_xwt  threadgroups=(ceil_div(features, BN), ceil_div(rows, BM))  threads=(32 * SIMD_ROWS * SIMD_COLS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// tune: SIMD_ROWS = 2, 1, 4
// tune: SIMD_COLS = 2, 1, 4
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float32 BN = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_xwt(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& features, constant uint& inner, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, inner}, {w, features, inner}, inner);
  product.store(Store<DTYPE>{y, rows, features});
}
