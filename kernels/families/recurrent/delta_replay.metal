// Speculative decoding with a recurrent state: of the tokens that were guessed some are accepted,
// and the state from before takes in their recorded changes and keys. A row of a state is read and
// written once, by one SIMD-group, whatever was accepted; the record comes from the cache.
// dispatch: delta_replay  threadgroups=(ceil_div(rows, TG / 32), heads, batch)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include "metalbench/state_rows.h"
using namespace metalbench;

[[kernel]] void delta_replay(device const DTYPE* change, device const DTYPE* k,
                             device const DTYPE* decay, device const uint* accepted,
                             device const float* state, device float* left, constant uint& tokens,
                             constant uint& heads, constant uint& rows, constant uint& cols,
                             uint3 group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup;
  if (row >= rows) {
    return;
  }
  const ulong whole = ((ulong(group.z) * heads + group.y) * rows + row) * cols;
  LaneColumns own = LaneColumns::of(state + whole, cols, lane);
  const uint count = min(accepted[group.z], tokens);
  for (uint t = 0; t < count; ++t) {
    const ulong at = (ulong(group.z) * tokens + t) * heads + group.y;
    own.scale(float(decay[at]), cols);
    own.add(float(change[at * rows + row]), LaneColumns::of(k + at * cols, cols, lane), cols);
  }
  own.store(left + whole, cols, lane);
}
