// relu((x w - 0.5) * 2): a matrix product with three elementwise steps after it.
// As separate kernels each step would read and write the whole result. Here they are the map
// through which the sums leave the registers (metalbench/epilogues.h), so they cost nothing but
// their arithmetic.
// dispatch: matmul_sub_mul_relu  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct ShiftedScaledRelu {
  float4 operator()(float4 v, uint, uint) const { return Relu()((v - 0.5f) * 2.0f); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void matmul_sub_mul_relu(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, m, k}, {w, k, n, n}, k);
  product.store(Store<DTYPE, ShiftedScaledRelu>{y, m, n});
}
