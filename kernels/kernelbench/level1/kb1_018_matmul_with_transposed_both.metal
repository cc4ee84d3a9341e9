// A product of matrices, both stored transposed: A by columns, B along depth.
// dispatch: multiply  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void multiply(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& m,
    constant uint& k, constant uint& n, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixColumns<DTYPE>, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, k, m, m}, {b, n, k}, k);
  product.store(Store<DTYPE>{y, m, n});
}
