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
  const ulong first = ulong(group.z) * tokens * heads + group.y;
  decay += first;
  change += first * rows + row;
  k += first * cols;
  for (uint t = 0; t < count; ++t) {
    own.scale(float(*decay), cols);
    own.add(float(*change), LaneColumns::of(k, cols, lane), cols);
    decay += heads;
    change += heads * rows;
    k += heads * cols;
  }
  own.store(left + whole, cols, lane);
}
