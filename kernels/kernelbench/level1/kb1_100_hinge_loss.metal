// Mean hinge loss, max(1 - p t, 0) with a sign t for each column: one threadgroup a row adds its
// losses, one threadgroup then adds the rows. The product with -1 or 1 is exact, so that 1 - p t is
// rounded once.
// dispatch: row_losses  threadgroups=(n)  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: losses float32 (n)
// tune: TG = 256, 64, 32, 128
// defaults: cpu TG = 64
// defaults: cuda TG = 64
#include "metalbench/array_sum.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void row_losses(device const float* predictions, device const float* targets,
                           device float* losses, constant uint& n,
                           uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[TG / 32];
  // Beyond the row p = t = 1, of which the loss is 0.
  const Row<float> p = row_of(predictions, row, n, 1.0f);
  const Row<float> t = row_of(targets, 0, n, 1.0f);
  float4 sums = 0.0f;
  for (uint column = 4 * thread_index; column < n; column += 4 * TG) {
    sums += max(1.0f - p(column) * t(column), 0.0f);
  }
  const float sum = group_sum<TG / 32>(total(sums), partial, PLACE);
  if (thread_index == 0) {
    losses[row] = sum;
  }
}

[[kernel]] void finish(device const float* losses, device float* y, constant uint& n,
                       PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const float sum = sum_of_shares(losses, n, sums, PLACE);
  if (thread_index == 0) {
    y[0] = sum / (float(n) * float(n));
  }
}
