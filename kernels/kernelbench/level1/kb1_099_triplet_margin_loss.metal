// Mean triplet margin loss: max(|a - p| - |a - n| + 1, 0) of every row, to each difference 1e-6
// added, as PyTorch does. One threadgroup a row reads all three once; one threadgroup then adds the
// rows' losses. The distances are much larger than their difference, which would lose digits: it is
// the difference of their squares, added up by itself, over the distances' sum.
// dispatch: row_losses  threadgroups=(rows)  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: losses float32 (rows)
// tune: TG = 256, 64, 32, 128
// defaults: cpu TG = 64
// defaults: cuda TG = 64
#include "metalbench/array_sum.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

constant constexpr float kOffset = 1e-6f;

[[kernel]] void row_losses(device const float* anchor, device const float* positive,
                           device const float* negative, device float* losses, constant uint& cols,
                           uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float3 partial[TG / 32];
  const Row<float> anchors = row_of(anchor, row, cols);
  // Beyond the row a - p + 1e-6 is 0.
  const Row<float> positives = row_of(positive, row, cols, kOffset);
  const Row<float> negatives = row_of(negative, row, cols, kOffset);
  float4 to_positive = 0.0f;
  float4 to_negative = 0.0f;
  float4 difference = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 from = anchors(column);
    const float4 p = positives(column);
    const float4 n = negatives(column);
    const float4 near = (from - p) + kOffset;
    const float4 far = (from - n) + kOffset;
    difference = fma(n - p, near + far, difference);
    to_positive = fma(near, near, to_positive);
    to_negative = fma(far, far, to_negative);
  }
  const float3 mine = float3(total(to_positive), total(to_negative), total(difference));
  const float3 all = group_sum<TG / 32>(mine, partial, PLACE);
  if (thread_index == 0) {
    const float distances = precise::sqrt(all.x) + precise::sqrt(all.y);
    losses[row] = max((distances > 0.0f ? all.z / distances : 0.0f) + 1.0f, 0.0f);
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
