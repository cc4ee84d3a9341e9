// Gradient of the cross entropy of rows with respect to the logits: (softmax(row) - 1 at the class)
// times the gradient of the row's loss. One threadgroup a row. KEEP quads a thread stay in registers,
// so that rows are read once, and the probabilities are never stored.
// dispatch: cross_entropy_gradient  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

// Elements column .. column + 3 of the gradient, from the logits there.
struct LogitGradient {
  float peak;
  float scale;  // of exponentials
  float dloss;
  uint target;
  float4 operator()(float4 v, uint column) const {
    const uint4 columns = column + uint4(0, 1, 2, 3);
    return exp(v - peak) * scale - select(float4(0.0f), float4(dloss), columns == target);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void cross_entropy_gradient(
    device const DTYPE* logits, device const uint* target, device const DTYPE* dloss,
    device DTYPE* dlogits, constant uint& cols, uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float2 partial[TG / 32];
  const Row<DTYPE> from = row_of(logits, row, cols, -INFINITY);
  device DTYPE* to = dlogits + ulong(row) * cols;
  const uint beyond = 4 * (thread_index + KEEP * threads);
  float4 kept[KEEP];
  ExpSum mine = no_exp_sum();
  UNROLLED_ON_GPU
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = from.kept(4 * (thread_index + i * threads));
    mine.peak = max(mine.peak, largest(kept[i]));
  }
  UNROLLED_ON_GPU
  for (uint i = 0; i < KEEP; ++i) {
    mine.sum += total(exp(kept[i] - mine.peak));
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    mine = with_quad(mine, from(column));
  }
  const ExpSum all = group_exp_sum<TG / 32>(mine, partial, place);
  const float d = float(dloss[row]);
  const LogitGradient gradient = {all.peak, d / all.sum, d, target[row]};
  UNROLLED_ON_GPU
  for (uint i = 0; i < KEEP; ++i) {
    const uint column = 4 * (thread_index + i * threads);
    store_quad(to, column, cols, gradient(kept[i], column));
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    store_quad(to, column, cols, gradient(from(column), column));
  }
}
