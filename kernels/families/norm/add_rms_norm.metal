// The residual stream and its norm in one pass: total = x + residual is stored, and so is y = total
// / rms(total) w, which is taken from the sum in registers before it is rounded. One threadgroup
// per row: two matrices are read and two written, where two kernels would read three.
// dispatch: add_rms_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm_epilogues.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void add_rms_norm(device const DTYPE* x, device const DTYPE* residual,
                             device const DTYPE* w, device DTYPE* total_sum, device DTYPE* y,
                             constant uint& cols, constant float& eps,
                             uint row [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const RootMeanSquare measure = {eps};
  const ulong start = ulong(row) * cols;
  const RowSum<DTYPE> sum = row_of_sum(x, residual, row, cols);
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    store_quad(total_sum + start, column, cols, sum(column));
  }
  const Weighted<DTYPE> put = {y + start, w, cols, 0.0f};
  scale_row_into<TG, KEEP>(measure, sum, put, partial, place);
}
