// A token of every row by its odds: the largest of logits and Gumbel's numbers, one threadgroup a
// row. Each element's word is found from its place alone, by twenty rounds of Threefry, so that
// nothing is written but the token. Of equal ones the first wins, in the lane, among lanes and among
// SIMD-groups.
// dispatch: gumbel_argmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(vocabulary, 128))))
// tune: TG = 1024, 256, 64, 128, 512
// tune: LEAST = 32, 1024
// defaults: cpu TG = 256, LEAST = 1024
// defaults: cuda TG = 256, LEAST = 1024
// limits: rows * vocabulary <= 4294967292
#include <metal_stdlib>

#include "metalbench/reduce.h"
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void gumbel_argmax(
    device const DTYPE* logits, device const uint* key, device uint* y, constant uint& rows,
    constant uint& vocabulary, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto where = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(where);
  threadgroup float peaks[TG / 32];
  threadgroup uint places[TG / 32];
  float best = -INFINITY;
  uint place = 0xffffffffu;
  for (uint column = thread_index; column < vocabulary; column += threads) {
    const uint at = row * vocabulary + column;
    const uint word = threefry_word(at, rows * vocabulary, key[0], key[1]);
    const float share = min(float(word) / 4294967295.0f, 0.99999994f);
    const float value = float(logits[at]) - precise::log(-precise::log(share));
    if (value > best) {
      best = value;
      place = column;
    }
  }
  const float highest = simd_max(best);
  const uint first = simd_min(best == highest ? place : 0xffffffffu);
  if (lane == 0) {
    peaks[simdgroup] = highest;
    places[simdgroup] = first;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    for (uint i = 1; i < threads / 32; ++i) {
      if (peaks[i] > peaks[0] || (peaks[i] == peaks[0] && places[i] < places[0])) {
        peaks[0] = peaks[i];
        places[0] = places[i];
      }
    }
    y[row] = places[0];
  }
}
