// C = A B for square matrices, with simdgroup_matrix.
// The plain case of metalbench/tiles.h, which tells how: four SIMD-groups hold a BM x BN tile of C
// in registers, tiles of A and B pass through threadgroup memory, in one or two BUFFERS. Larger tiles
// use what they load more often, smaller ones make more threadgroups: the values below are where one
// or the other wins.
// dispatch: sqr_mm  threadgroups=(ceil_div(n, BN), ceil_div(n, BM))  threads=(32 * SIMD_ROWS * SIMD_COLS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// tune: SIMD_ROWS = 2, 1, 4
// tune: SIMD_COLS = 2, 1, 4
// defaults: cpu BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// defaults: cuda float16 bfloat16 BM = 128, BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void sqr_mm(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* c, constant uint& n,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, n, n}, {b, n, n, n}, n);
  product.store(Store<DTYPE>{c, n, n});
}
