// C = A B for matrices of any shape, with simdgroup_matrix.
// As sqr_mm, the plain product of metalbench/tiles.h; what is different is the depth, which may be
// far larger than the sides of C. All sums of depth stay in registers, so C is written once and
// nothing is added up through memory.
// dispatch: rect_mm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(32 * SIMD_ROWS * SIMD_COLS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// tune: SIMD_ROWS = 2, 1, 4
// tune: SIMD_COLS = 2, 1, 4
// defaults: cpu BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// defaults: cuda float32 BM = 128, BK = 16
// defaults: cuda float16 bfloat16 BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void rect_mm(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* c, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, m, k}, {b, k, n, n}, k);
  product.store(Store<DTYPE>{c, m, n});
}
