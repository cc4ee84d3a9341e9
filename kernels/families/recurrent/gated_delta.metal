// Gated delta rule: one SIMD-group a row of a head's state, whose elements the lanes hold in
// registers from the first token to the last. A token takes two SIMD-group sums: what the state
// says of the key, and, corrected, of the query. Rows of a head share its keys in the cache, and no
// row waits for another.
// dispatch: gated_delta  threadgroups=(ceil_div(rows, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include <metal_stdlib>

#include "metalbench/inlined.h"
using namespace metal;

constant constexpr uint HELD = 8;  // of a lane: 256 columns at most

[[kernel]] void gated_delta(device const DTYPE* q, device const DTYPE* k, device const DTYPE* v,
                            device const DTYPE* decay, device const DTYPE* beta, device DTYPE* y,
                            constant uint& tokens, constant uint& heads, constant uint& k_heads,
                            constant uint& rows, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup, head = group.y;
  if (row >= rows) {
    return;
  }
  const uint shared = head / (heads / k_heads);
  float state[HELD];
  UNROLLED
  for (uint i = 0; i < HELD; ++i) {
    state[i] = 0.0f;
  }
  q += shared * cols;
  k += shared * cols;
  v += head * rows + row;
  y += head * rows + row;
  for (uint t = 0; t < tokens; ++t) {
    const float kept = float(decay[head]);
    float key[HELD];
    float said = 0.0f;
    UNROLLED
    for (uint i = 0; i < HELD; ++i) {
      const uint column = lane + 32 * i;
      key[i] = column < cols ? float(k[column]) : 0.0f;
      state[i] *= kept;
      said = fma(state[i], key[i], said);
    }
    const float change = float(beta[head]) * (float(*v) - simd_sum(said));
    float answer = 0.0f;
    UNROLLED
    for (uint i = 0; i < HELD; ++i) {
      const uint column = lane + 32 * i;
      state[i] = fma(change, key[i], state[i]);
      answer = fma(state[i], column < cols ? float(q[column]) : 0.0f, answer);
    }
    answer = simd_sum(answer);
    if (lane == 0) {
      *y = DTYPE(answer);
    }
    q += k_heads * cols;
    k += k_heads * cols;
    v += heads * rows;
    y += heads * rows;
    decay += heads;
    beta += heads;
  }
}
