// Euclidean norm of each row: the square root of the sum of squares, one threadgroup per row.
// Four sums a thread, by fused multiply-add, which rounds a square and its addition once; one
// barrier joins the SIMD-groups.
// dispatch: l2_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void l2_norm(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  float4 squares = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 v = x_row(column);
    squares = fma(v, v, squares);
  }
  const float all = group_sum<TG / 32>(total(squares), partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(precise::sqrt(all));
  }
}
