// Causal attention of eight heads with its two projections. Three dispatches: queries, keys and values
// are one product, of which a head is a slice of columns (metalbench/merged_attention.h); attention is
// one pass with an online softmax that skips keys no query sees (metalbench/attention.h); biases are
// part of how products are stored.
// dispatch: linear(input = x, weight = c_attn_weight, bias = c_attn_bias, output = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: linear(input = attended, weight = c_proj_weight, bias = c_proj_bias, output = y, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// scratch: qkv float32 (batch * tokens, 3 * dims)
// scratch: attended float32 (batch * tokens, dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2, SG = 4, SPLITS = 2, AHEAD = 1
// limits: dims % 8 == 0, dims <= 1024
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"
using namespace metalbench;

constant constexpr uint HEADS = 8;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* input, device const float* weight, device const float* bias,
    device float* output, constant uint& batch, constant uint& tokens, constant uint& dims,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {input, weight, batch * tokens, dims, features};
  layer.store(output, Biased<float>{bias, features}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void attend(
    device const float* qkv, device float* attended, constant uint& tokens, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, SG, 128, Seen<true>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  attend_merged<Flash>(memory, MergedHead::of(qkv, attended, tokens, dims, HEADS, group),
                       dims / HEADS, group.x, PLACE);
}
