// log(sum(exp(row))): one threadgroup per row, one pass. Every thread has a running maximum and
// the sum of exponentials relative to it, rescaled when the maximum rises; lanes and SIMD-groups
// are joined in the same way. Rows may be far from zero: exp sees differences only.
// dispatch: logsumexp  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void logsumexp(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float2 partial[TG / 32];
  const ExpSum all = row_exp_sum<TG>(row_of(x, row, cols, -INFINITY), partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(precise::log(all.sum) + all.peak);
  }
}
