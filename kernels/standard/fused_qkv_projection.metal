// Queries, keys and values of an attention layer by one product: their weights stand side by side.
// Three products of a third of the columns would read the tokens three times and make a third of
// the threadgroups each. Tokens are few and the product is flat, so tiles are small by default:
// that gives a GPU more of them.
// dispatch: fused_qkv_projection  threadgroups=(ceil_div(columns, BN), ceil_div(tokens, BM))  threads=(128)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda float32 BM = 64, BN = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void fused_qkv_projection(
    device const DTYPE* x, device const DTYPE* w_qkv, device DTYPE* qkv, constant uint& tokens,
    constant uint& dims, constant uint& columns, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, tokens, dims}, {w_qkv, dims, columns, columns}, dims);
  product.store(Store<DTYPE>{qkv, tokens, columns});
}
