// C[i] = A[i] B[i] for a batch of matrices, with simdgroup_matrix.
// The batch is the grid's depth, so a threadgroup only steps to its own matrices and then makes a
// tile of one product (metalbench/tiles.h): many small products fill a GPU as one large one does.
// dispatch: batch_mm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM), batch)  threads=(32 * SIMD_ROWS * SIMD_COLS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// tune: SIMD_ROWS = 2, 1, 4
// tune: SIMD_COLS = 2, 1, 4
// defaults: cpu BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// defaults: cuda float32 BN = 128, BK = 16
// defaults: cuda float16 bfloat16 BM = 128, BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void batch_mm(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* c, constant uint& m,
    constant uint& n, constant uint& k, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  const ulong batch = tile.z;
  product.multiply({a + batch * m * k, m, k}, {b + batch * k * n, k, n, n}, k);
  product.store(Store<DTYPE>{c + batch * m * n, m, n});
}
