// The dispatches of a transformer's encoder layer, as PyTorch has it without dropout: norms behind,
// ReLU, and sequences of few tokens. HEADS is a macro. In order, of x (rows, width):
//   linear        (layer_dispatches.h) queries, keys and values, of all heads side by side
//   (merged_attention.h) attend        threadgroups=(sequence_tokens, sequences)  threads=(32 *
//   HEADS) linear_added  the projection, and x norm          threadgroups=(ceil_div(rows, NORMS))
//   threads=(32 * NORMS) linear_relu, linear_added, norm
#pragma once
#include "metalbench/activations.h"
#include "metalbench/layer_dispatches.h"
#include "metalbench/merged_attention.h"

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_relu(
    device const float* from, device const float* weight, device const float* bias,
    device float* to, constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {from, weight, rows, width, features};
  layer.store(to, BiasedThen<float, Relu>{{bias, features}}, tile, memory, PLACE);
}

[[kernel]] void attend(device const float* qkv, device float* attended,
                       constant uint& sequence_tokens, constant uint& width,
                       uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint3 of = uint3(0, simdgroup, group.y);
  attend_few(MergedHead::of(qkv, attended, sequence_tokens, width, HEADS, of), group.x,
             width / HEADS, lane);
}
