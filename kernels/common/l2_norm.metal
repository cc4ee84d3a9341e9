// Euclidean norm of each row: the square root of the sum of squares, one threadgroup per row.
// Four sums a thread, by fused multiply-add, which rounds a square and its addition once; one
// barrier joins the SIMD-groups.
// dispatch: l2_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void l2_norm(device const DTYPE* x,
                                                               device DTYPE* y, constant uint& cols,
                                                               uint row
                                                               [[threadgroup_position_in_grid]],
                                                               ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  float4 squares = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    const float4 v = x_row(column);
    squares = fma(v, v, squares);
  }
  const float all = group_sum<TG / 32>(total(squares), partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(precise::sqrt(all));
  }
}
