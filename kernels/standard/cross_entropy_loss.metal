// Cross entropy per row: logsumexp(row) - row[target], in one pass over the logits.
// One threadgroup per row. Every thread keeps a running maximum and the sum of exponentials
// relative to it, rescaled when the maximum rises; lanes and SIMD-groups are combined in the same
// way. Two SIMD-group functions and one barrier per row; nothing but the loss is written.
// dispatch: cross_entropy_loss  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void cross_entropy_loss(
    device const DTYPE* logits, device const uint* target, device DTYPE* loss, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float2 partial[TG / 32];
  const ExpSum all = row_exp_sum<TG>(row_of(logits, row, cols, -INFINITY), partial, place);
  if (thread_index == 0) {
    const float chosen = float(logits[ulong(row) * cols + target[row]]);
    loss[row] = DTYPE(precise::log(all.sum) + (all.peak - chosen));
  }
}
