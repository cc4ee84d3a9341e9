// The dispatches that layers of transformers share, of matrices (rows, width) and what becomes of
// them: `from`, `to`, `weight` and `bias` are bound by the lines.
//   linear, linear_added  threadgroups=(ceil_div(features, BN), ceil_div(rows, BM))  threads=(128)
//   norm                  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
#pragma once
#include "metalbench/layer_norms.h"
#include "metalbench/linear.h"

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

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_added(
    device const float* from, device const float* weight, device const float* bias,
    device const float* residual, device float* to, constant uint& rows, constant uint& width,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Linear<BM, BN, BK>::kMemory];
  const Linear<BM, BN, BK> layer = {from, weight, rows, width, features};
  layer.store(to, MapThen<Biased<float>, Added<float>>{{bias, features}, {residual, features}},
              tile, memory, PLACE);
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
