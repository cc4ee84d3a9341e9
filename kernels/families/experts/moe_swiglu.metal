// The first half of a mixture's experts in one product: rows sorted by expert times its gate and
// its up matrix, whose features take turns by four, so that a SIMD-group has both sums of an
// element side by side and silu(gate) * up leaves the registers. Half of the rows' reads and of
// the writes are saved, and the product of both halves by itself.
// dispatch: begin  threads_in_grid=(rows)  threads=(64)
// dispatch: moe_swiglu  threadgroups=(ceil_div(2 * 4 * ceil_div(features, 4), BN), ceil_div(rows, BM) + experts)  threads=(128)
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
#include "metalbench/activations.h"
#include "metalbench/grouped_tiles.h"
using namespace metalbench;

[[kernel]] void begin(device const uint* expert, device uint* offsets, constant uint& rows,
                      constant uint& experts, uint row [[thread_position_in_grid]]) {
  find_offsets(expert, offsets, rows, experts, row);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void moe_swiglu(
    device const DTYPE* x, device const uint* offsets, device const DTYPE* gate,
    device const DTYPE* up, device DTYPE* y, constant uint& experts, constant uint& features,
    constant uint& inner, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, PairedRows<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  const ExpertRows<BM> own = ExpertRows<BM>::of(offsets, experts, tile.y, lane);
  if (own.count == 0) {
    return;
  }
  const ulong from = ulong(own.expert) * features * inner;
  const MatrixRows<DTYPE> gates = {gate + from, features, inner};
  const MatrixRows<DTYPE> ups = {up + from, features, inner};
  Tile product(uint2(tile.x * BN, 0), memory, PLACE);
  product.multiply({x + ulong(own.first) * inner, own.count, inner}, {gates, ups}, inner);
  product.store(StoreGated<DTYPE, Silu>{y + ulong(own.first) * features, own.count, features});
}
