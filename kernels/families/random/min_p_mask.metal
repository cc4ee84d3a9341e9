// Logits below the best one's by more than log 0.1 become -inf: one threadgroup a row, a maximum
// over its lanes and SIMD-groups, and a second walk along the row, which the cache still has. No
// exponential is taken: odds are compared as differences of logits.
// dispatch: min_p_mask  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(vocabulary, 128))))
// tune: TG = 1024, 256, 128, 512
// tune: LEAST = 32, 1024
// defaults: cpu TG = 256, LEAST = 1024
// defaults: cuda TG = 256, LEAST = 1024
#include "metalbench/quads.h"
#include "metalbench/reduce.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void min_p_mask(
    device const DTYPE* x, device DTYPE* y, constant uint& vocabulary,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float peaks[TG / 32];
  device const DTYPE* from = x + ulong(row) * vocabulary;
  device DTYPE* to = y + ulong(row) * vocabulary;
  float best = -INFINITY;
  for (uint column = 4 * thread_index; column < vocabulary; column += 4 * threads) {
    best = max(best, largest(load_quad(from, column, vocabulary, -INFINITY)));
  }
  best = simd_max(best);
  if (lane == 0) {
    peaks[simdgroup] = best;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < threads / 32; ++i) {
    best = max(best, peaks[i]);
  }
  const float least = best - 2.302585093f;
  for (uint column = 4 * thread_index; column < vocabulary; column += 4 * threads) {
    const float4 v = load_quad(from, column, vocabulary);
    store_quad(to, column, vocabulary, select(float4(-INFINITY), v, v >= least));
  }
}
