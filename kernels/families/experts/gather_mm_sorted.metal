// Grouped products of a mixture of experts: rows come sorted by expert. First it is found where
// each expert's begin; then every expert has separate tiles (metalbench/grouped_tiles.h), which
// are ordinary ones but for the last. Experts without rows have none, and no thread reads their
// weights.
// dispatch: begin  threads_in_grid=(rows)  threads=(64)
// dispatch: gather_mm_sorted  threadgroups=(ceil_div(features, BN), ceil_div(rows, BM) + experts)  threads=(128)
// scratch: offsets uint32 (experts + 1)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BUFFERS = 2
// defaults: cuda BM = 32, BUFFERS = 2
// defaults: cuda float32 BM = 64, BN = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/grouped_tiles.h"
using namespace metalbench;

[[kernel]] void begin(device const uint* expert, device uint* offsets, constant uint& rows,
                      constant uint& experts, uint row [[thread_position_in_grid]]) {
  find_offsets(expert, offsets, rows, experts, row);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather_mm_sorted(
    device const DTYPE* x, device const uint* offsets, device const DTYPE* w, device DTYPE* y,
    constant uint& experts, constant uint& features, constant uint& inner,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  const ExpertRows<BM> own = ExpertRows<BM>::of(offsets, experts, tile.y, lane);
  if (own.count == 0) {
    return;
  }
  Tile product(uint2(tile.x * BN, 0), memory, PLACE);
  product.multiply({x + ulong(own.first) * inner, own.count, inner},
                   {w + ulong(own.expert) * features * inner, features, inner}, inner);
  product.store(Store<DTYPE>{y + ulong(own.first) * features, own.count, features});
}
