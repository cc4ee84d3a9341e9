// Sum of absolute values of each row: one threadgroup per row. A thread adds quads into four
// sums, which shortens the chain of additions fourfold and with it the rounding error; lanes and
// SIMD-groups are then joined as a tree.
// dispatch: l1_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void l1_norm(device const DTYPE* x,
                                                               device DTYPE* y, constant uint& cols,
                                                               uint row
                                                               [[threadgroup_position_in_grid]],
                                                               ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  float4 sums = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    sums += fabs(x_row(column));
  }
  const float all = group_sum<TG / 32>(total(sums), partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(all);
  }
}
