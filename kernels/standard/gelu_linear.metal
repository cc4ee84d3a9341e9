// A dense layer with its activation, gelu(x W) or silu(x W), as the instance names it.
// The activation is applied to the sums on their way out of the registers, four at a time, so the
// result before it never exists in memory: a third of the traffic of a product and a kernel after
// it. Exact gelu, the polynomials of metalbench/normal_distribution.h, takes some twenty
// multiplications an element, which is little compared with the hundreds or thousands of each sum.
// dispatch: activated_linear  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(128)
// instance: gelu SILU = 0
// instance: silu SILU = 1
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float16 bfloat16 BK = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

template <bool IsSilu>
struct Activation : Gelu {};
template <>
struct Activation<true> : Silu {};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void activated_linear(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& inputs, constant uint& outputs, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, inputs}, {w, inputs, outputs, outputs}, inputs);
  product.store(Store<DTYPE, Activated<Activation<SILU>>>{y, rows, outputs});
}
