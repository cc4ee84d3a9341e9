// Gated delta rule whose columns decay each at their own rate, as in Kimi's delta attention: a row
// of the state stays in the registers of one SIMD-group over all tokens. A token takes two sums
// over lanes, one after the other; that is what its time is, so there are as many SIMD-groups as
// rows, and none waits for another.
// dispatch: gated_delta_vector  threadgroups=(ceil_div(rows, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void gated_delta_vector(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* decay,
    device const DTYPE* beta, device const float* state, device DTYPE* y, device float* left,
    constant uint& tokens, constant uint& heads, constant uint& k_heads, constant uint& rows,
    constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup, head = group.y;
  if (row >= rows) {
    return;
  }
  const uint shared = head / (heads / k_heads);
  const ulong whole = (ulong(head) * rows + row) * cols;
  LaneColumns own = LaneColumns::of(state + whole, cols, lane);
  for (uint t = 0; t < tokens; ++t) {
    const ulong at = ulong(t) * heads + head;
    const ulong from = (ulong(t) * k_heads + shared) * cols;
    const LaneColumns key = LaneColumns::of(k + from, cols, lane);
    own.scale(LaneColumns::of(decay + at * cols, cols, lane), cols);
    own.add(float(beta[at]) * (float(v[at * rows + row]) - own.dot(key, cols)), key, cols);
    const float answer = own.dot(LaneColumns::of(q + from, cols, lane), cols);
    if (lane == 0) {
      y[at * rows + row] = DTYPE(answer);
    }
  }
  own.store(left + whole, cols, lane);
}
