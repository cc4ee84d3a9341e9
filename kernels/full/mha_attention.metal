// Multi-head self-attention: queries, keys and values, one pass of attention for each head, output
// projection.
// The three projections are one dispatch: the depth of the grid chooses the weights, so that a GPU
// has three times the threadgroups to work on and the tokens come from the cache. Attention is that
// of metalbench/attention.h, a head being a slice of columns. In between are float numbers, so that
// half precision rounds once.
// dispatch: project_qkv  threadgroups=(ceil_div(dims, BN), ceil_div(tokens, BM), 3)  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// dispatch: project_out  threadgroups=(ceil_div(dims, BN), ceil_div(tokens, BM))  threads=(128)
// scratch: qkv float32 (3, tokens, dims)
// scratch: attended float32 (tokens, dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, SG = 4, SPLITS = 2, AHEAD = 1, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// limits: dims % heads == 0, dims / heads <= 128
#include "metalbench/attention.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const DTYPE* x, device const DTYPE* w_q, device const DTYPE* w_k,
    device const DTYPE* w_v, device float* qkv, constant uint& tokens, constant uint& dims,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  device const DTYPE* weights = tile.z == 0 ? w_q : tile.z == 1 ? w_k : w_v;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({x, tokens, dims}, {weights, dims, dims, dims}, dims);
  product.store(Store<float>{qkv + ulong(tile.z) * tokens * dims, tokens, dims});
}

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void attend(
    device const float* qkv, device float* attended, constant uint& tokens, constant uint& dims,
    constant uint& heads, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, SG, 128, Seen<false>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const uint width = dims / heads;
  const ulong all = ulong(tokens) * dims;
  device const float* q = qkv + group.y * width;
  const Flash attention(memory, width, group.x, PLACE);
  attention.attend({q, tokens, dims}, {q + all, tokens, dims}, {q + 2 * all, tokens, dims},
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
