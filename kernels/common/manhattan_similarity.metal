// Sum of |x - y| over each pair of rows: one threadgroup per pair, both rows read once. The
// difference is taken before anything is summed, so rows that are close to each other and far
// from zero lose nothing.
// dispatch: manhattan_similarity  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void manhattan_similarity(device const DTYPE* x, device const DTYPE* y,
                                     device DTYPE* distance, constant uint& cols,
                                     uint row [[threadgroup_position_in_grid]],
                                     uint thread_index [[thread_index_in_threadgroup]],
                                     uint lane [[thread_index_in_simdgroup]],
                                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  const Row<DTYPE> y_row = row_of(y, row, cols);
  float4 sums = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    sums += fabs(x_row(column) - y_row(column));
  }
  const float all = group_sum<TG / 32>(total(sums), partial, place);
  if (thread_index == 0) {
    distance[row] = DTYPE(all);
  }
}
