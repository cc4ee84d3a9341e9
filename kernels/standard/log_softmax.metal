// Row log softmax: y = (x - peak) - log(sum of exp(x - peak)), one threadgroup per row. Never the
// logarithm of a softmax, which would be log(0) for what lies 104 below the peak. Differences to
// the peak first: they are exact where they are small, and so are the results of the likely
// classes.
// KEEP quads a thread stay in registers, so that rows are read once.
// dispatch: log_softmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

struct Less {
  float peak;
  float log_sum;
  float4 operator()(float4 v) const { return (v - peak) - log_sum; }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void log_softmax(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float2 partial[TG / 32];
  const Row<DTYPE> from = row_of(x, row, cols, -INFINITY);
  device DTYPE* to = y + ulong(row) * cols;
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
  const float log_sum = precise::log(all.sum);
  const Less less = {all.peak, log_sum};
  // Not put_kept(): the last quad would take four more registers, and 32 threadgroups of 32 threads
  // on a core of NVIDIA's GPUs leave a thread 64.
  UNROLLED_ON_GPU
  for (uint i = 0; i < KEEP; ++i) {
    store_quad(to, 4 * (thread_index + i * threads), cols, less(kept[i]));
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    store_quad(to, column, cols, less(from(column)));
  }
}
