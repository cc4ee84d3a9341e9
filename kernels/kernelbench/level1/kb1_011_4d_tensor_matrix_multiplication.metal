// The last axis of four by a matrix: all axes before it are rows of one product.
// dispatch: product  threadgroups=(ceil_div(n, BN), ceil_div(batch * rows * cols, BM))  threads=(128)
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
    device const float* a, device const float* b, device float* y, constant uint& batch,
    constant uint& rows, constant uint& cols, constant uint& n, constant uint& k,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, batch * rows * cols, k}, {b, k, n, n}, k);
  product.store(Store<float>{y, batch * rows * cols, n});
}
