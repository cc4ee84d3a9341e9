// silu(x Wg) (x Wu): the gated layer of today's language models.
// Both products are made at once: columns of Wg and Wu alternate by four in the tile of B, so that
// each tile of x serves both, and the two sums of an element end in neighbouring quads of one SIMD-
// group, which joins them. Neither product is ever in memory.
// dispatch: swiglu  threadgroups=(ceil_div(8 * ceil_div(hidden, 4), BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cuda BUFFERS = 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void swiglu(
    device const DTYPE* x, device const DTYPE* w_gate, device const DTYPE* w_up, device DTYPE* y,
    constant uint& rows, constant uint& dims, constant uint& hidden,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, PairedColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, dims}, {w_gate, w_up, dims, hidden, hidden}, dims);
  product.store(StoreGated<DTYPE, Silu>{y, rows, hidden});
}
