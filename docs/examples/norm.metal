// RMS norm of x + residual with a weight for each column. The sum of both rows is never stored.
// Threadgroup memory: 16 bytes.
// dispatch: add_norm  threadgroups=(rows)  threads=(128)
#include "metalbench/norm.h"
using namespace metalbench;

[[kernel]] void add_norm(device const float* x, device const float* residual,
                         device const float* weight, device float* y, constant uint& cols,
                         constant float& eps, uint row [[threadgroup_position_in_grid]],
                         PLACE_ARGUMENTS) {
  threadgroup float partial[4];
  const Weighted<float> to = {y + ulong(row) * cols, weight, nullptr, cols};
  scale_row_by_rms_into<128, 2>(row_of_sum(x, residual, row, cols), to, eps, partial, PLACE);
}
