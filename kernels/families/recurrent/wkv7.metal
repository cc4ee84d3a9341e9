// The recurrence of RWKV-7. One SIMD-group has a row of a head's state, in registers over all
// tokens: the row decays by column, loses part of what it says of a direction, takes its value
// times the key in, and is asked. Two sums over lanes a token; rows are independent.
// dispatch: wkv7  threadgroups=(ceil_div(dims, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: dims <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void wkv7(device const DTYPE* r, device const DTYPE* w, device const DTYPE* k,
                     device const DTYPE* v, device const DTYPE* a, device const DTYPE* rate,
                     device const float* state, device DTYPE* y, device float* left,
                     constant uint& tokens, constant uint& heads, constant uint& dims,
                     uint2 group [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup;
  if (row >= dims) {
    return;
  }
  const ulong whole = (ulong(group.y) * dims + row) * dims;
  LaneColumns own = LaneColumns::of(state + whole, dims, lane);
  ulong at = group.y * dims;
  for (uint t = 0; t < tokens; ++t, at += heads * dims) {
    LaneColumns turn = LaneColumns::of(a + at, dims, lane);
    const float said = own.dot(turn, dims);
    turn.scale(LaneColumns::of(rate + at, dims, lane), dims);
    own.scale(LaneColumns::of(w + at, dims, lane), dims);
    own.add(-said, turn, dims);
    own.add(float(v[at + row]), LaneColumns::of(k + at, dims, lane), dims);
    const float answer = own.dot(LaneColumns::of(r + at, dims, lane), dims);
    if (lane == 0) {
      y[at + row] = DTYPE(answer);
    }
  }
  own.store(left + whole, dims, lane);
}
