// alpha A B + beta C in one kernel: C is read where the sums of the product leave the registers, a
// quad of it for each quad of theirs, so that the product itself is never in memory.
// dispatch: addmm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(32 * SIMD_ROWS * SIMD_COLS)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// tune: SIMD_ROWS = 2, 1, 4
// tune: SIMD_COLS = 2, 1, 4
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float32 BM = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct Combined {
  device const DTYPE* c;
  uint cols;
  float alpha;
  float beta;
  float4 operator()(float4 v, uint row, uint column) const {
    return fma(alpha, v, beta * load_quad(c + ulong(row) * cols, column, cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void addmm(
    device const DTYPE* a, device const DTYPE* b, device const DTYPE* c, device DTYPE* y,
    constant uint& m, constant uint& n, constant uint& k, constant float& alpha,
    constant float& beta, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({a, m, k}, {b, k, n, n}, k);
  product.store(Store<DTYPE, Combined>{y, m, n, {c, n, alpha, beta}});
}
