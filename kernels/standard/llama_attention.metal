// Attention of a llama layer: grouped queries with rotary positions, causal, output projection.
// Three dispatches. Queries, keys and values are one product; their rotation is the map through
// which its sums leave the registers, so that every key is turned once and not once for each block
// of queries. Attention is one pass (metalbench/attention.h): the heads of a group read the same
// keys and values, a query sees no later one, and blocks of keys that no query of a threadgroup
// sees are skipped. In between are float numbers, so that half precision rounds once.
// dispatch: project_qkv  threadgroups=(ceil_div(dims + 2 * kv_heads * (dims / heads), BN), ceil_div(tokens, BM))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// dispatch: project_out  threadgroups=(ceil_div(dims, BN), ceil_div(tokens, BM))  threads=(128)
// scratch: qkv float32 (tokens, dims + 2 * kv_heads * (dims / heads))
// scratch: attended float32 (tokens, dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, SG = 4, SPLITS = 2, AHEAD = 1, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// limits: dims % (2 * heads) == 0, dims / heads <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/epilogues.h"
#include "metalbench/rope.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const DTYPE* x, device const DTYPE* w_qkv, device float* qkv, constant uint& tokens,
    constant uint& dims, constant uint& heads, constant uint& kv_heads, constant float& base,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const uint width = dims / heads;
  const uint columns = dims + 2 * kv_heads * width;
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, tokens, dims}, {w_qkv, dims, columns, columns}, dims);
  product.store(Store<float, Roped>{qkv, tokens, columns, {dims + kv_heads * width, width, base}});
}

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void attend(
    device const float* qkv, device float* attended, constant uint& tokens, constant uint& dims,
    constant uint& heads, constant uint& kv_heads, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, SG, 128, Seen<true>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const uint width = dims / heads;
  const uint columns = dims + 2 * kv_heads * width;
  device const float* keys = qkv + dims + group.y / (heads / kv_heads) * width;
  const Flash attention(memory, width, group.x, PLACE);
  attention.attend({qkv + group.y * width, tokens, columns}, {keys, tokens, columns},
                   {keys + kv_heads * width, tokens, columns},
                   {attended + group.y * width, tokens, dims});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_out(
    device const float* attended, device const DTYPE* w_out, device DTYPE* y, constant uint& tokens,
    constant uint& dims, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<DTYPE, float>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({attended, tokens, dims}, {w_out, dims, dims, dims}, dims);
  product.store(Store<DTYPE>{y, tokens, dims});
}
