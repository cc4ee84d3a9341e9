// The median of each row, without a sort: the value in the middle is found by counting how many are
// at or above (metalbench/ranks.h). A row comes from memory once, then from registers, or where it
// is longer from the cache, and may be of any length. Of an even number of elements the other one
// in the middle is the same or the next below, and the mean is taken.
// dispatch: median_rows  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 128, 32, 64, 256
// tune: KEEP = 2, 1, 4, 8
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/ranks.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void median_rows(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup RankMemory<TG> memory;
  threadgroup float4 at_or_above[TG / 32];
  const auto keys = keys_of_row<TG, KEEP>(x + ulong(row) * cols, cols, place);
  const uint above = cols - cols / 2;
  const uint upper = key_of_rank(keys, above, memory, place);
  uint lower = upper;
  if (cols % 2 == 0) {
    CountFrom from = {uint4(upper), 0};
    keys.visit(from);
    const uint below = key_below(keys, upper, memory, place);
    const float4 counts = group_sum<TG / 32>(float4(from.counts), at_or_above, place);
    lower = counts.x > float(above) ? upper : below;
  }
  if (thread_index == 0) {
    const float mean = 0.5f * of_sort_key(lower) + 0.5f * of_sort_key(upper);
    y[row] = lower == upper ? element_of_bits<DTYPE>(bits_of_sort_key(upper)) : DTYPE(mean);
  }
}
