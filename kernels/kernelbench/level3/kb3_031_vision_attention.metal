// Attention of four heads over the pixels of an image, a residual and a layer norm. Four dispatches:
// queries, keys and values are one product, of which a head is a slice of columns
// (metalbench/merged_attention.h); attention is one pass with an online softmax; the residual is part of
// how the last product is stored, and a SIMD-group norms each row of it (metalbench/layer_norms.h).
// dispatch: project_qkv  threadgroups=(ceil_div(3 * dims, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(height * width, 8 * SG), 4, batch)  threads=(32 * SG)
// dispatch: project_out  threadgroups=(ceil_div(dims, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: norm  threadgroups=(ceil_div(batch * height * width, NORMS))  threads=(32 * NORMS)
// scratch: qkv float32 (batch * height * width, 3 * dims)
// scratch: attended float32 (batch * height * width, dims)
// scratch: mixed float32 (batch * height * width, dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: SG = 4, 1, 2
// tune: AHEAD = 0, 1
// tune: NORMS = 4, 1
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, NORMS = 1
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2, AHEAD = 1
// limits: dims % 4 == 0, dims <= 256
#include "metalbench/layer_norms.h"
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"
using namespace metalbench;

constant constexpr uint HEADS = 4;
using Layer = Linear<BM, BN, BK>;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const float* x, device const float* attn_in_proj_weight,
    device const float* attn_in_proj_bias, device float* qkv, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, attn_in_proj_weight, batch * height * width, dims, 3 * dims};
  layer.store(qkv, Biased<float>{attn_in_proj_bias, 3 * dims}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void attend(
    device const float* qkv, device float* attended, constant uint& height, constant uint& width,
    constant uint& dims, uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, SG, 64, Seen<false>, 64, 1, AHEAD>;
  threadgroup Flash::Memory memory;
  attend_merged<Flash>(memory, MergedHead::of(qkv, attended, height * width, dims, HEADS, group),
                       dims / HEADS, group.x, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_out(
    device const float* attended, device const float* attn_out_proj_weight,
    device const float* attn_out_proj_bias, device const float* x, device float* mixed,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {attended, attn_out_proj_weight, batch * height * width, dims, dims};
  layer.store(mixed,
              MapThen<Biased<float>, Added<float>>{{attn_out_proj_bias, dims}, {x, dims}}, tile,
              memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void norm(
    device const float* mixed, device const float* norm_weight, device const float* norm_bias,
    device float* y, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& dims, uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < batch * height * width) {
    store_norm_row(mixed, norm_weight, norm_bias, y, row, dims, 1e-5f, memory, lane);
  }
}
