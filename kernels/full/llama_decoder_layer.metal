// A layer of a llama model: x1 = x + attention(rms_norm x), then y = x1 + W_down (silu(gate) up) of
// rms_norm x1.
// Five dispatches. A norm is a factor of a row, applied to the sums of the product after it, which
// adds up the squares of what it fetches anyway (metalbench/product_norms.h). Rotary positions,
// residuals and the gate are part of how products are stored; gate and up are one product with
// columns that alternate. Attention is one causal pass with grouped queries
// (metalbench/attention.h). In between are float numbers, so that half precision rounds once.
// dispatch: project_qkv  threadgroups=(ceil_div(dims + 2 * kv_heads * (dims / heads), 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// dispatch: project_out  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_up  threadgroups=(ceil_div(8 * ceil_div(hidden, 4), 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_down  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// scratch: qkv float32 (tokens, dims + 2 * kv_heads * (dims / heads))
// scratch: attended float32 (tokens, dims)
// scratch: mixed float32 (tokens, dims)
// scratch: lifted float32 (tokens, hidden)
// tune: BK = 16, 8
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SG = 4, SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims % (2 * heads) == 0, dims / heads <= 128, heads % kv_heads == 0
#include "metalbench/activations.h"
#include "metalbench/attention.h"
#include "metalbench/epilogues.h"
#include "metalbench/product_norms.h"
#include "metalbench/rope.h"
using namespace metalbench;

// Rows and columns of a tile.
constant constexpr uint TILE = 32;
using PlainTile = Product<MatrixRows<float>, MatrixColumns<DTYPE, float>, TILE, TILE, BK>;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const DTYPE* x, device const DTYPE* w_qkv, device float* qkv, constant uint& tokens,
    constant uint& dims, constant uint& heads, constant uint& kv_heads, constant float& base,
    constant float& eps, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<SquaredRows<DTYPE>, MatrixColumns<DTYPE>, TILE, TILE, BK>;
  threadgroup float4 memory[Tile::kMemory];
  threadgroup float scales[TILE];
  const uint width = dims / heads;
  const uint columns = dims + 2 * kv_heads * width;
  const Roped roped = {dims + kv_heads * width, width, base};
  Tile product(tile * TILE, memory, PLACE);
  product.multiply({x, tokens, dims}, {w_qkv, dims, columns, columns}, dims);
  inverse_rms(product.left, scales, dims, eps, thread_index);
  product.store(
      Store<float, RowScaled<Roped>>{qkv, tokens, columns, {scales, tile.y * TILE, roped}});
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
    device const float* attended, device const DTYPE* w_out, device const DTYPE* x,
    device float* mixed, constant uint& tokens, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[PlainTile::kMemory];
  PlainTile product(tile * TILE, memory, PLACE);
  product.multiply({attended, tokens, dims}, {w_out, dims, dims, dims}, dims);
  product.store(Store<float, Added<DTYPE>>{mixed, tokens, dims, {x, dims}});
}

// The factor of a row is part of both products, before the gate bends one of them.
struct StoreNormedGate {
  device float* to;
  uint rows;
  uint cols;
  threadgroup const float* scales;
  uint first;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (column % 8 == 0 && row < rows && column / 2 < cols) {
      const float scale = scales[row - first];
      store_quad(to + ulong(row) * cols, column / 2, cols,
                 Silu()(sums[0] * scale) * (sums[1] * scale));
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_up(
    device const float* mixed, device const DTYPE* w_gate_up, device float* lifted,
    constant uint& tokens, constant uint& dims, constant uint& hidden, constant float& eps,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<SquaredRows<float>, PairedColumns<DTYPE, float>, TILE, TILE, BK>;
  threadgroup float4 memory[Tile::kMemory];
  threadgroup float scales[TILE];
  Tile product(tile * TILE, memory, PLACE);
  product.multiply({mixed, tokens, dims}, {w_gate_up, w_gate_up + hidden, dims, hidden, 2 * hidden},
                   dims);
  inverse_rms(product.left, scales, dims, eps, thread_index);
  product.store(StoreNormedGate{lifted, tokens, hidden, scales, tile.y * TILE});
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
