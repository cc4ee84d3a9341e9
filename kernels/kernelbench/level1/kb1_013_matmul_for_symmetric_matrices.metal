// A product of symmetric matrices, which is any matrix: what symmetry allows, to read a column of b
// as a row, changes how tiles are filled and not how much there is to multiply. As the plain product.
// dispatch: product  threadgroups=(ceil_div(n, BN), ceil_div(n, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void product(
    device const float* a, device const float* b, device float* y, constant uint& n,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, n, n}, {b, n, n, n}, n);
  product.store(Store<float>{y, n, n});
}
