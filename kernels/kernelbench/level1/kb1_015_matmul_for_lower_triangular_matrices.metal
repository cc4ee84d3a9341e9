// A product of lower triangular matrices: the whole product, of which one side is kept.
// dispatch: multiply  threadgroups=(ceil_div(n, BN), ceil_div(n, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

// Keeps what is below the diagonal or on it.
struct Lower {
  float4 operator()(float4 v, uint row, uint column) const {
    const uint4 at = column + uint4(0, 1, 2, 3);
    return select(float4(0.0f), v, at <= row);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void multiply(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& n,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, n, n}, {b, n, n, n}, n);
  product.store(Store<DTYPE, Lower>{y, n, n, {}});
}
