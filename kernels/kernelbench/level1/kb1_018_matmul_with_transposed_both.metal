// y = a^T b^T: both are read as they lie, and turned on the way from threadgroup memory to registers.
// dispatch: product  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(128)
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
    device const float* a, device const float* b, device float* y, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixColumns<float>, MatrixRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, k, m, m}, {b, n, k}, k);
  product.store(Store<float>{y, m, n});
}
