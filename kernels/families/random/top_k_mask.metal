// Logits but the count largest of each row become -inf; what equals the smallest of these stays
// too. The cut is found by counting what is above (metalbench/ranks.h): exact, and a row is not
// sorted. One threadgroup a row.
// dispatch: top_k_mask  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 128, 32, 64, 256, 512
// tune: KEEP = 2, 4, 1, 8
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda KEEP = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/cut.h"
#include "metalbench/ranks.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void top_k_mask(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant int& count,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;
  threadgroup RankMemory<TG> memory;
  const auto keys = keys_of_row<TG, KEEP>(from, cols, place);
  const uint key = key_of_rank(keys, min(uint(count), cols), memory, place);
  keep_from<TG>(key, from, to, cols, place);
}
