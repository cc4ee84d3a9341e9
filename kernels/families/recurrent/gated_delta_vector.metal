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
  q += shared * cols;
  k += shared * cols;
  v += head * rows + row;
  y += head * rows + row;
  decay += head * cols;
  for (uint t = 0; t < tokens; ++t) {
    const LaneColumns key = LaneColumns::of(k, cols, lane);
    own.scale(LaneColumns::of(decay, cols, lane), cols);
    own.add(float(beta[head]) * (float(*v) - own.dot(key, cols)), key, cols);
    const float answer = own.dot(LaneColumns::of(q, cols, lane), cols);
    if (lane == 0) {
      *y = DTYPE(answer);
    }
    q += k_heads * cols;
    k += k_heads * cols;
    v += heads * rows;
    y += heads * rows;
    decay += heads * cols;
    beta += heads;
  }
  own.store(left + whole, cols, lane);
}
