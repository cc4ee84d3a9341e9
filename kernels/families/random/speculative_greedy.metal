// How many proposed tokens are the most likely ones, and the most likely token behind them: greedy
// decoding with a draft. Every row of logits is read once, all rows at the same time, for the first
// of its largest elements (metalbench/arg_rows.h); then the lanes of a SIMD-group
// compare the proposals of a text.
// dispatch: find_best  threadgroups=(drafted + 1, texts)  threads=(TG)
// dispatch: count  threadgroups=(texts)  threads=(32)
// scratch: best uint32 (texts, drafted + 1)
// tune: TG = 1024, 256, 512
// defaults: cpu TG = 256
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void find_best(
    device const DTYPE* target, device uint* best, constant uint& drafted,
    constant uint& vocabulary, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ArgMemory<TG / 32> partial;
  const uint row = group.y * (drafted + 1) + group.x;
  arg_of_row<TG>(1.0f, target + ulong(row) * vocabulary, best + row, vocabulary, partial, PLACE);
}

[[kernel]] void count(device const uint* proposed, device const uint* best, device uint* accepted,
                      device uint* token, constant uint& drafted,
                      uint text [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
  device const uint* own = best + text * (drafted + 1);
  uint first = drafted;
  for (uint i = lane; i < drafted; i += 32) {
    first = proposed[text * drafted + i] == own[i] ? first : min(first, i);
  }
  first = simd_min(first);
  if (lane == 0) {
    accepted[text] = first;
    token[text] = own[first];
  }
}
