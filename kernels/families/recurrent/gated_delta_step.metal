// One token of the gated delta rule. A step is as fast as states move: a SIMD-group reads one row
// of one state, corrects it by what it says of the key, asks it, and writes it; all that else is
// read is a few vectors a head, from the cache.
// dispatch: gated_delta_step  threadgroups=(ceil_div(rows, TG / 32), heads, batch)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void gated_delta_step(device const DTYPE* q, device const DTYPE* k,
                                 device const DTYPE* v, device const DTYPE* decay,
                                 device const DTYPE* beta, device const float* state,
                                 device DTYPE* y, device float* left, constant uint& heads,
                                 constant uint& k_heads, constant uint& rows, constant uint& cols,
                                 uint3 group [[threadgroup_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]],
                                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup;
  if (row >= rows) {
    return;
  }
  const uint head = group.z * heads + group.y;
  const ulong from = ulong(group.z * k_heads + group.y / (heads / k_heads)) * cols;
  const ulong at = ulong(head) * rows + row;
  const LaneColumns key = LaneColumns::of(k + from, cols, lane);
  LaneColumns own = LaneColumns::of(state + at * cols, cols, lane);
  own.scale(float(decay[head]), cols);
  own.add(float(beta[head]) * (float(v[at]) - own.dot(key, cols)), key, cols);
  const float answer = own.dot(LaneColumns::of(q + from, cols, lane), cols);
  own.store(left + at * cols, cols, lane);
  if (lane == 0) {
    y[at] = DTYPE(answer);
  }
}
