// Triplet margin loss per row: max(|a - p| - |a - n| + margin, 0) of an anchor, a positive and a
// negative example. One threadgroup per row reads all three once; both squared distances are
// reduced together, as a float2, with one SIMD-group function and one barrier.
// dispatch: triplet_margin_loss  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void triplet_margin_loss(
    device const DTYPE* anchor, device const DTYPE* positive, device const DTYPE* negative,
    device DTYPE* loss, constant uint& cols, constant float& margin,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float2 partial[TG / 32];
  const Row<DTYPE> anchor_row = row_of(anchor, row, cols);
  const Row<DTYPE> positive_row = row_of(positive, row, cols);
  const Row<DTYPE> negative_row = row_of(negative, row, cols);
  float4 to_positive = 0.0f;
  float4 to_negative = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    const float4 from = anchor_row(column);
    const float4 near = from - positive_row(column);
    const float4 far = from - negative_row(column);
    to_positive = fma(near, near, to_positive);
    to_negative = fma(far, far, to_negative);
  }
  const float2 all =
      group_sum<TG / 32>(float2(total(to_positive), total(to_negative)), partial, place);
  if (thread_index == 0) {
    const float distance = precise::sqrt(all.x) - precise::sqrt(all.y);
    loss[row] = DTYPE(max(distance + margin, 0.0f));
  }
}
