// The dispatches of a transformer's encoder layer, as PyTorch has it without dropout: norms behind,
// ReLU, and sequences of few tokens. HEADS is a macro. In order, of x (rows, width):
//   linear        queries, keys and values, of all heads side by side (merged_attention.h)
//   attend        threadgroups=(sequence_tokens, sequences)  threads=(32 * HEADS)
//   linear_added  the projection, and x
//   norm          threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
//   linear_relu, linear_added, norm
// Linear layers have threadgroups=(ceil_div(features, BN), ceil_div(rows, BM)).
#pragma once
#include "metalbench/activations.h"
#include "metalbench/layer_norms.h"
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"

// Entry points have no namespace: `// dispatch:` lines name them.
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* from, device const float* weight, device const float* bias,
    device float* to, constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {from, weight, rows, width, features};
  layer.store(to, Biased<float>{bias, features}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_relu(
    device const float* from, device const float* weight, device const float* bias,
    device float* to, constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {from, weight, rows, width, features};
  layer.store(to, BiasedThen<float, Relu>{{bias, features}}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_added(
    device const float* from, device const float* weight, device const float* bias,
    device const float* residual, device float* to, constant uint& rows, constant uint& width,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {from, weight, rows, width, features};
  layer.store(to, MapThen<Biased<float>, Added<float>>{{bias, features}, {residual, features}},
              tile, memory, PLACE);
}

[[kernel]] void attend(device const float* qkv, device float* attended,
                       constant uint& sequence_tokens, constant uint& width,
                       uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint3 of = uint3(0, simdgroup, group.y);
  attend_few(MergedHead::of(qkv, attended, sequence_tokens, width, HEADS, of), group.x,
             width / HEADS, lane);
}

[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void norm(
    device const float* from, device const float* weight, device const float* bias,
    device float* to, constant uint& rows, constant uint& width,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < rows) {
    store_norm_row(from, weight, bias, to, row, width, 1e-5f, memory, lane);
  }
}
