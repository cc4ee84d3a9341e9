// One token of Mamba 2: states move once each way, which bounds it. A SIMD-group has one row of a
// head's state: it decays by one number a head, takes in dt x times b, and its product with c is
// the answer. What heads of a group share comes from the cache.
// dispatch: ssm_step  threadgroups=(ceil_div(dims, TG / 32), heads, batch)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: states <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void ssm_step(device const DTYPE* x, device const DTYPE* dt, device const DTYPE* a_log,
                         device const DTYPE* b, device const DTYPE* c, device const DTYPE* skip,
                         device const float* state, device DTYPE* y, device float* left,
                         constant uint& heads, constant uint& groups, constant uint& dims,
                         constant uint& states, uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup;
  if (row >= dims) {
    return;
  }
  const uint head = group.z * heads + group.y;
  const ulong shared = ulong(group.z * groups + group.y / (heads / groups)) * states;
  const ulong at = ulong(head) * dims + row;
  const float in = float(x[at]), step = float(dt[head]);
  LaneColumns own = LaneColumns::of(state + at * states, states, lane);
  own.scale(precise::exp(-precise::exp(float(a_log[group.y])) * step), states);
  own.add(step * in, LaneColumns::of(b + shared, states, lane), states);
  const float answer = own.dot(LaneColumns::of(c + shared, states, lane), states);
  own.store(left + at * states, states, lane);
  if (lane == 0) {
    y[at] = DTYPE(fma(float(skip[group.y]), in, answer));
  }
}
