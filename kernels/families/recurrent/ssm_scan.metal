// Mamba 2 over a prompt, token after token: one SIMD-group a row of a head's state, in registers
// from the first token to the last, so that no state is in memory on the way. The answer's sum over
// lanes is what no later token waits for; heads of a group find b and c in the cache.
// dispatch: ssm_scan  threadgroups=(ceil_div(dims, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: states <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void ssm_scan(device const DTYPE* x, device const DTYPE* dt, device const DTYPE* a_log,
                         device const DTYPE* b, device const DTYPE* c, device const DTYPE* skip,
                         device const float* state, device DTYPE* y, device float* left,
                         constant uint& tokens, constant uint& heads, constant uint& groups,
                         constant uint& dims, constant uint& states,
                         uint2 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup, head = group.y;
  if (row >= dims) {
    return;
  }
  const float rate = -precise::exp(float(a_log[head])), through = float(skip[head]);
  const ulong whole = (ulong(head) * dims + row) * states;
  LaneColumns own = LaneColumns::of(state + whole, states, lane);
  const uint shared = head / (heads / groups);
  x += head * dims + row;
  y += head * dims + row;
  b += shared * states;
  c += shared * states;
  for (uint t = 0; t < tokens; ++t) {
    const float in = float(*x), step = float(dt[head]);
    own.scale(precise::exp(rate * step), states);
    own.add(step * in, LaneColumns::of(b, states, lane), states);
    const float answer = own.dot(LaneColumns::of(c, states, lane), states);
    if (lane == 0) {
      *y = DTYPE(fma(through, in, answer));
    }
    x += heads * dims;
    y += heads * dims;
    dt += heads;
    b += groups * states;
    c += groups * states;
  }
  own.store(left + whole, states, lane);
}
