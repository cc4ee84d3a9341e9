// Gradients of linear_cross_entropy with respect to the hidden rows and the weights, from the stored
// log-sum-exp: logits are computed anew, a chunk at a time, and never all stored
// (linear_cross_entropy.h). A threadgroup owns BM rows of the result: of hidden states, for which the
// vocabulary passes in chunks, or of weights, for which the hidden states do. Each sum has one owner
// and one order: no atomics.
// dispatch: of_hidden  threadgroups=(min(GROUPS, ceil_div(rows, BM)))  threads=(128)
// dispatch: of_weights  threadgroups=(min(GROUPS, ceil_div(vocabulary, BM)))  threads=(128)
// scratch: hidden_chunk DTYPE (min(GROUPS, ceil_div(rows, BM)), BM, CHUNK)
// scratch: hidden_sums float32 (min(GROUPS, ceil_div(rows, BM)), BM, dims)
// scratch: weight_chunk DTYPE (min(GROUPS, ceil_div(vocabulary, BM)), BM, CHUNK)
// scratch: weight_sums float32 (min(GROUPS, ceil_div(vocabulary, BM)), BM, dims)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: CHUNK = 1024, 512, 2048
// tune: GROUPS = 1024, 256
// tune: BUFFERS = 1, 2
// defaults: cpu CHUNK = 512, BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/linear_cross_entropy.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void of_hidden(
    device const DTYPE* hidden, device const DTYPE* w, device const uint* target,
    device const float* lse, device const DTYPE* dloss, device DTYPE* hidden_chunk,
    device float* hidden_sums, device DTYPE* dhidden, constant uint& rows, constant uint& dims,
    constant uint& vocabulary, uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Gradient = LinearGradient<DTYPE, true, BM, BN, CHUNK>;
  threadgroup float4 memory[Gradient::kMemory];
  const Gradient gradient = {hidden, w, dims, rows, vocabulary, {target, lse, dloss},
                             hidden_chunk, hidden_sums, group};
  gradient.store(dhidden, groups, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void of_weights(
    device const DTYPE* hidden, device const DTYPE* w, device const uint* target,
    device const float* lse, device const DTYPE* dloss, device DTYPE* weight_chunk,
    device float* weight_sums, device DTYPE* dw, constant uint& rows, constant uint& dims,
    constant uint& vocabulary, uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Gradient = LinearGradient<DTYPE, false, BM, BN, CHUNK>;
  threadgroup float4 memory[Gradient::kMemory];
  const Gradient gradient = {w, hidden, dims, vocabulary, rows, {target, lse, dloss},
                             weight_chunk, weight_sums, group};
  gradient.store(dw, groups, memory, PLACE);
}
