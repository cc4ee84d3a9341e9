// Residual addition and root-mean-square norm in one pass, y = rms_norm(x + residual): one
// threadgroup per row. The sum lives in registers only: two arrays are read and one is written,
// where two kernels would read three and write two.
// dispatch: fused_add_rms_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void fused_add_rms_norm(device const DTYPE* x, device const DTYPE* residual,
                                   device DTYPE* y, constant uint& cols, constant float& eps,
                                   uint row [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]],
                                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const RowSum<DTYPE> sum = row_of_sum(x, residual, row, cols);
  scale_row_by_rms<TG, KEEP>(sum, y + ulong(row) * cols, eps, partial, place);
}
