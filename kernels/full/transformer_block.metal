// Pre-norm transformer block: x1 = x + MHA(LN x), then y = x1 + W_down gelu(W_up LN x1).
// Five dispatches: a layer norm is not a separate pass, each threadgroup of the product after it
// takes mean and scale of its rows first and normalises while it fetches
// (metalbench/product_norms.h); residuals and gelu are part of how a product is stored
// (metalbench/epilogues.h). Attention is one pass with an online softmax (metalbench/attention.h),
// a head being a slice of columns. In between are float numbers, so that half precision rounds
// once.
// dispatch: project_qkv  threadgroups=(ceil_div(3 * dims, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// dispatch: project_out  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_up  threadgroups=(ceil_div(hidden, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_down  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// scratch: qkv float32 (tokens, 3 * dims)
// scratch: attended float32 (tokens, dims)
// scratch: mixed float32 (tokens, dims)
// scratch: lifted float32 (tokens, hidden)
// tune: BK = 16, 8
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SG = 4, SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims % heads == 0, dims / heads <= 128
#include "metalbench/activations.h"
#include "metalbench/attention.h"
#include "metalbench/epilogues.h"
#include "metalbench/product_norms.h"
using namespace metalbench;

// Rows and columns of a tile.
constant constexpr uint TILE = 32;

template <typename T>
using NormalizedTile = Product<NormalizedRows<T>, MatrixColumns<DTYPE, float>, TILE, TILE, BK>;
using PlainTile = Product<MatrixRows<float>, MatrixColumns<DTYPE, float>, TILE, TILE, BK>;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const DTYPE* x, device const DTYPE* w_qkv, device float* qkv, constant uint& tokens,
    constant uint& dims, constant float& eps, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormalizedTile<DTYPE>::kMemory];
  threadgroup float2 moments[TILE];
  NormalizedTile<DTYPE> product(tile * TILE, memory, PLACE);
  take_moments(moments, x, tile.y * TILE, TILE, uint2(dims, tokens), eps, PLACE);
  product.multiply({x, tokens, dims, moments, tile.y * TILE, TILE},
                   {w_qkv, dims, 3 * dims, 3 * dims}, dims);
  product.store(Store<float>{qkv, tokens, 3 * dims});
}

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void attend(
    device const float* qkv, device float* attended, constant uint& tokens, constant uint& dims,
    constant uint& heads, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, SG, 128, Seen<false>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const uint width = dims / heads;
  device const float* q = qkv + group.y * width;
  const Flash attention(memory, width, group.x, PLACE);
  attention.attend({q, tokens, 3 * dims}, {q + dims, tokens, 3 * dims},
                   {q + 2 * dims, tokens, 3 * dims}, {attended + group.y * width, tokens, dims});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_out(
    device const float* attended, device const DTYPE* w_out, device const DTYPE* x,
    device float* mixed, constant uint& tokens, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[PlainTile::kMemory];
  PlainTile product(tile * TILE, memory, PLACE);
  product.multiply({attended, tokens, dims}, {w_out, dims, dims, dims}, dims);
  product.store(Store<float, Added<DTYPE>>{mixed, tokens, dims, {x, dims}});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_up(
    device const float* mixed, device const DTYPE* w_up, device float* lifted,
    constant uint& tokens, constant uint& dims, constant uint& hidden, constant float& eps,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormalizedTile<float>::kMemory];
  threadgroup float2 moments[TILE];
  NormalizedTile<float> product(tile * TILE, memory, PLACE);
  take_moments(moments, mixed, tile.y * TILE, TILE, uint2(dims, tokens), eps, PLACE);
  product.multiply({mixed, tokens, dims, moments, tile.y * TILE, TILE},
                   {w_up, dims, hidden, hidden}, dims);
  product.store(Store<float, Activated<Gelu>>{lifted, tokens, hidden});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_down(
    device const float* lifted, device const DTYPE* w_down, device const float* mixed,
    device DTYPE* y, constant uint& tokens, constant uint& dims, constant uint& hidden,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[PlainTile::kMemory];
  PlainTile product(tile * TILE, memory, PLACE);
  product.multiply({lifted, tokens, hidden}, {w_down, hidden, dims, dims}, hidden);
  product.store(Store<DTYPE, Added<float>>{y, tokens, dims, {mixed, dims}});
}
