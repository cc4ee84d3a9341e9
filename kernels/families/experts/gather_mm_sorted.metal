// Grouped products of a mixture of experts: rows come sorted by expert. A tile multiplies its rows
// once for every expert that has some in it (metalbench/grouped_tiles.h); at the border between two
// experts two products share a tile, elsewhere it is an ordinary one. Experts without rows cost
// nothing, as nobody asks for their weights.
// dispatch: gather_mm_sorted  threadgroups=(ceil_div(features, BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/grouped_tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather_mm_sorted(
    device const DTYPE* x, device const uint* expert, device const DTYPE* w, device DTYPE* y,
    constant uint& rows, constant uint& features, constant uint& inner,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint end = min(rows, (tile.y + 1) * BM);
  for (uint first = tile.y * BM; first < end;) {
    const ExpertRows own = ExpertRows::at(expert, first, end);
    Tile product(uint2(tile.x * BN, 0), memory, PLACE);
    product.multiply({x + ulong(first) * inner, own.count, inner},
                     {w + ulong(own.expert) * features * inner, features, inner}, inner);
    product.store(Store<DTYPE>{y + ulong(first) * features, own.count, features});
    threadgroup_barrier(mem_flags::mem_threadgroup);
    first += own.count;
  }
}
