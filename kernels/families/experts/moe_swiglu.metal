// The first half of a mixture's experts in one product: rows sorted by expert times its gate and
// its up matrix, whose features take turns by four, so that a SIMD-group has both sums of an
// element side by side and silu(gate) * up leaves the registers. Half of the rows' reads and of
// the writes are saved, and the product of both halves by itself.
// dispatch: moe_swiglu  threadgroups=(ceil_div(2 * 4 * ceil_div(features, 4), BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/grouped_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void moe_swiglu(
    device const DTYPE* x, device const uint* expert, device const DTYPE* gate,
    device const DTYPE* up, device DTYPE* y, constant uint& rows, constant uint& features,
    constant uint& inner, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, PairedRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint end = min(rows, (tile.y + 1) * BM);
  for (uint first = tile.y * BM; first < end;) {
    const ExpertRows own = ExpertRows::at(expert, first, end);
    const ulong from = ulong(own.expert) * features * inner;
    const MatrixRows<DTYPE> gates = {gate + from, features, inner};
    const MatrixRows<DTYPE> ups = {up + from, features, inner};
    Tile product(uint2(tile.x * BN, 0), memory, PLACE);
    product.multiply({x + ulong(first) * inner, own.count, inner}, {gates, ups}, inner);
    product.store(StoreGated<DTYPE, Silu>{y + ulong(first) * features, own.count, features});
    threadgroup_barrier(mem_flags::mem_threadgroup);
    first += own.count;
  }
}
