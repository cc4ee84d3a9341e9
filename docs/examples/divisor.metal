// y = weight x + bias, with a weight for each column and a bias for each group of rows. Threads take
// elements in strides, and divide before the loop only.
// Threadgroup memory: 0 bytes.
// dispatch: scale  threadgroups=(2)  threads=(32)
#include "metalbench/divisor.h"
using namespace metalbench;

[[kernel]] void scale(device const float* x, device const float* weight, device const float* bias,
                      device float* y, constant uint& cols, constant uint& rows,
                      constant uint& group, uint index [[thread_position_in_grid]],
                      uint threads [[threads_per_grid]]) {
  const Divisor by_group = Divisor::of(group);
  const RowColumn step = RowColumn::of(threads, cols);
  RowColumn at = RowColumn::of(index, cols);
  for (uint i = index; i < rows * cols; i += threads) {
    y[i] = fma(x[i], weight[at.column], bias[by_group.quotient(at.row)]);
    at = at.after(step, cols);
  }
}
