// Negative log likelihood per row: minus the log probability of the row's class. One element of
// each row is read, which costs a cache line a row, and no arrangement of threads changes that: a
// thread a row, so that loads of many rows are under way together.
// dispatch: nll_loss  threads_in_grid=(rows)  threads=(TG)
// tune: TG = 128, 32, 256, 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void nll_loss(
    device const DTYPE* log_probability, device const uint* target, device DTYPE* loss,
    constant uint& cols, uint row [[thread_position_in_grid]]) {
  loss[row] = DTYPE(-float(log_probability[ulong(row) * cols + target[row]]));
}
