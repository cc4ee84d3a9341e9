// Mean cross entropy of logits and classes: logsumexp(row) - row[target] of every row, in one pass
// over the logits with one threadgroup a row (metalbench/softmax.h); one threadgroup then adds the
// rows' losses.
// dispatch: row_losses  threadgroups=(rows)  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: losses float32 (rows)
// tune: TG = 256, 64, 32, 128
// defaults: cpu TG = 64
// defaults: cuda TG = 64
#include "metalbench/array_sum.h"
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void row_losses(device const float* predictions, device const uint* targets,
                           device float* losses, constant uint& classes,
                           uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[TG / 32];
  const ExpSum all = row_exp_sum<TG>(row_of(predictions, row, classes, -INFINITY), partial, PLACE);
  if (thread_index == 0) {
    const float chosen = predictions[ulong(row) * classes + targets[row]];
    losses[row] = precise::log(all.sum) + (all.peak - chosen);
  }
}

[[kernel]] void finish(device const float* losses, device float* y, constant uint& rows,
                       PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const float sum = sum_of_shares(losses, rows, sums, PLACE);
  if (thread_index == 0) {
    y[0] = sum / float(rows);
  }
}
