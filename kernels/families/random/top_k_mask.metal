// Logits but the count largest of each row become -inf; what equals the smallest of these stays
// too. The cut is found by counting what is above (metalbench/ranks.h): exact, and a row is not
// sorted. One threadgroup a row.
// dispatch: top_k_mask  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 32, 64, 256, 512, 1024
// tune: KEEP = 4, 1, 8
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/cut.h"
#include "metalbench/ranks.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void top_k_mask(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant int& count,
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;
  threadgroup RankMemory<TG> memory;
  const RowKeys<TG, KEEP, DTYPE> keys(from, cols, thread_index);
  const uint key = key_of_rank(keys, min(uint(count), cols), memory, place);
  keep_from<TG>(key, from, to, cols, place);
}
