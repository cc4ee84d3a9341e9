// Cross entropy per row against a distribution: -sum of t log_softmax(x), one threadgroup per
// row, both rows read once and nothing stored between. With d = peak - x the loss is sum(t d) +
// sum(t) log(sum(exp(-d))): every term is positive, so nothing cancels, which it would in
// logsumexp(x) - sum(t x) for rows far from zero. When the peak of a thread rises, so does sum(t
// d), by as much for every t.
// dispatch: log_softmax_cross_entropy  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void log_softmax_cross_entropy(
    device const DTYPE* logits, device const DTYPE* target, device DTYPE* loss, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float2 partial[TG / 32];
  threadgroup float2 sums[TG / 32];
  const Row<DTYPE> x = row_of(logits, row, cols, -INFINITY);
  const Row<DTYPE> t = row_of(target, row, cols);
  ExpSum mine = no_exp_sum();
  float weight = 0.0f;
  float weighted = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    const float4 v = x(column);
    const float4 w = t(column);
    const ExpSum next = with_quad(mine, v);
    const float4 below = select(next.peak - v, float4(0.0f), w == 0.0f);
    weighted += weight > 0.0f ? weight * (next.peak - mine.peak) : 0.0f;
    weighted += total(w * below);
    weight += total(w);
    mine = next;
  }
  const ExpSum all = group_exp_sum<TG / 32>(mine, partial, place);
  weighted += weight > 0.0f ? weight * (all.peak - mine.peak) : 0.0f;
  const float2 sum = group_sum<TG / 32>(float2(weighted, weight), sums, place);
  if (thread_index == 0) {
    loss[row] = DTYPE(sum.x + sum.y * precise::log(all.sum));
  }
}
