// Gated linear attention, token after token: one SIMD-group a row of a head's state, in registers
// from the first token to the last. Nothing depends on a sum over lanes but the answer, which no
// later token waits for: the sums of several tokens are under way at a time.
// dispatch: gla  threadgroups=(ceil_div(rows, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void gla(device const DTYPE* q, device const DTYPE* k, device const DTYPE* v,
                    device const DTYPE* log_decay, device const float* state, device DTYPE* y,
                    device float* left, constant uint& tokens, constant uint& heads,
                    constant uint& rows, constant uint& cols,
                    uint2 group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup, head = group.y;
  if (row >= rows) {
    return;
  }
  const ulong whole = (ulong(head) * rows + row) * cols;
  LaneColumns own = LaneColumns::of(state + whole, cols, lane);
  q += head * cols;
  k += head * cols;
  v += head * rows + row;
  y += head * rows + row;
  for (uint t = 0; t < tokens; ++t) {
    own.scale(precise::exp(float(log_decay[head])), cols);
    own.add(float(*v), LaneColumns::of(k, cols, lane), cols);
    const float answer = own.dot(LaneColumns::of(q, cols, lane), cols);
    if (lane == 0) {
      *y = DTYPE(answer);
    }
    q += heads * cols;
    k += heads * cols;
    v += heads * rows;
    y += heads * rows;
    log_decay += heads;
  }
  own.store(left + whole, cols, lane);
}
