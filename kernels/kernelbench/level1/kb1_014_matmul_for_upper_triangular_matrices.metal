// A product of upper triangular matrices: only depths from row to column bring anything, so a
// tile's product runs over these, and a tile below the diagonal is zeros without one. That leaves a
// sixth of the multiplications.
// dispatch: product  threadgroups=(ceil_div(n, BN), ceil_div(n, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void product(
    device const float* a, device const float* b, device float* y, constant uint& n,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Rows = FromDepth<MatrixRows<float>>;
  using Columns = FromDepth<MatrixColumns<float>>;
  using Tile = Product<Rows, Columns, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint2 corner = tile * uint2(BN, BM);
  const uint first = corner.y;
  const uint last = min(n, corner.x + BN);
  Tile product(corner, memory, PLACE);
  product.multiply(Rows{{a, n, n}, first}, Columns{{b, n, n, n}, first},
                   last > first ? last - first : 0);
  product.store(Store<float>{y, n, n});
}
