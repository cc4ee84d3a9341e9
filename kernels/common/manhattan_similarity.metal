// Sum of |x - y| over each pair of rows: one threadgroup per pair, both rows read once. The
// difference is taken before anything is summed, so rows that are close to each other and far
// from zero lose nothing.
// dispatch: manhattan_similarity  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void manhattan_similarity(
    device const DTYPE* x, device const DTYPE* y, device DTYPE* distance, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  const Row<DTYPE> y_row = row_of(y, row, cols);
  float4 sums = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    sums += fabs(x_row(column) - y_row(column));
  }
  const float all = group_sum<TG / 32>(total(sums), partial, place);
  if (thread_index == 0) {
    distance[row] = DTYPE(all);
  }
}
