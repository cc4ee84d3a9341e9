// MinGPT's block: x1 = x + attention(norm x), then y = x1 + W_proj gelu(W_fc norm x1). Seven dispatches:
// of a norm only mean and scale of each row are stored, the product after it standardises what it
// fetches (metalbench/layer_norms.h); heads are slices of the columns of one product
// (metalbench/merged_attention.h), attention is one causal pass; biases, gelu and residuals are part of
// how products are stored.
// dispatch: row_moments  threadgroups=(ceil_div(batch * tokens, NORMS))  threads=(32 * NORMS)
// dispatch: project_qkv  threadgroups=(ceil_div(3 * dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), 8, batch)  threads=(32 * SG * SPLITS)
// dispatch: project_out  threadgroups=(ceil_div(dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// dispatch: row_moments(x = mixed)  threadgroups=(ceil_div(batch * tokens, NORMS))  threads=(32 * NORMS)
// dispatch: project_up  threadgroups=(ceil_div(4 * dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// dispatch: project_down  threadgroups=(ceil_div(dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// scratch: moments float32 (batch * tokens, 2)
// scratch: qkv float32 (batch * tokens, 3 * dims)
// scratch: attended float32 (batch * tokens, dims)
// scratch: mixed float32 (batch * tokens, dims)
// scratch: lifted float32 (batch * tokens, 4 * dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: SG = 2, 1, 4
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// tune: NORMS = 4, 1
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, NORMS = 1
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2, SG = 4, SPLITS = 2, AHEAD = 1
// limits: dims % 8 == 0, dims <= 1024
#include "metalbench/activations.h"
#include "metalbench/layer_norms.h"
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"
using namespace metalbench;

constant constexpr uint HEADS = 8;
constant constexpr float EPS = 1e-5f;
using Layer = Linear<BM, BN, BK>;
using NormLayer = Product<StandardRows, MatrixRows<float>, BM, BN, BK>;
using BiasAndResidual = MapThen<Biased<float>, Added<float>>;

[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void row_moments(
    device const float* x, device float* moments, constant uint& batch, constant uint& tokens,
    constant uint& dims, uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < batch * tokens) {
    store_row_moments(x, moments, row, dims, EPS, memory, lane);
  }
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const float* x, device const float* moments, device const float* ln_1_weight,
    device const float* ln_1_bias, device const float* attn_c_attn_weight,
    device const float* attn_c_attn_bias, device float* qkv, constant uint& batch,
    constant uint& tokens, constant uint& dims, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormLayer::kMemory];
  NormLayer product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, moments, ln_1_weight, ln_1_bias, batch * tokens, dims},
                   {attn_c_attn_weight, 3 * dims, dims}, dims);
  product.store(Store<float, Biased<float>>{
      qkv, batch * tokens, 3 * dims, {attn_c_attn_bias, 3 * dims}});
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

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_out(
    device const float* attended, device const float* attn_c_proj_weight,
    device const float* attn_c_proj_bias, device const float* x, device float* mixed,
    constant uint& batch, constant uint& tokens, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {attended, attn_c_proj_weight, batch * tokens, dims, dims};
  layer.store(mixed, BiasAndResidual{{attn_c_proj_bias, dims}, {x, dims}}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_up(
    device const float* mixed, device const float* moments, device const float* ln_2_weight,
    device const float* ln_2_bias, device const float* mlp_c_fc_weight,
    device const float* mlp_c_fc_bias, device float* lifted, constant uint& batch,
    constant uint& tokens, constant uint& dims, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormLayer::kMemory];
  NormLayer product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({mixed, moments, ln_2_weight, ln_2_bias, batch * tokens, dims},
                   {mlp_c_fc_weight, 4 * dims, dims}, dims);
  product.store(Store<float, BiasedThen<float, GeluTanh>>{
      lifted, batch * tokens, 4 * dims, {{mlp_c_fc_bias, 4 * dims}, {}}});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_down(
    device const float* lifted, device const float* mlp_c_proj_weight,
    device const float* mlp_c_proj_bias, device const float* mixed, device float* y,
    constant uint& batch, constant uint& tokens, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {lifted, mlp_c_proj_weight, batch * tokens, 4 * dims, dims};
  layer.store(y, BiasAndResidual{{mlp_c_proj_bias, dims}, {mixed, dims}}, tile, memory, PLACE);
}
