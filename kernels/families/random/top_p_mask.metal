// Nucleus sampling's mask: of each row the fewest largest logits stay whose probabilities together
// reach p, with what equals the smallest of them; the others become -inf. The cut is found bit by
// bit by adding what is above it, so that a row of a whole vocabulary is not sorted.
// dispatch: top_p_mask  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 128, 64, 256, 512
// tune: LEAST = 32, 1024
// defaults: cpu TG = 128, LEAST = 1024
// defaults: cuda TG = 128, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/cut.h"
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

struct Weight {
  float peak;
  float4 operator()(float4 v) const { return precise::exp(v - peak); }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void top_p_mask(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant float& p,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;
  threadgroup float2 sums[TG / 32];
  threadgroup float partial[2 * (TG / 32)];
  const ExpSum all = row_exp_sum<TG>(row_of(x, row, cols, -INFINITY), sums, place);
  const uint key = cut_of_row<TG>(Weight{all.peak}, p * all.sum, from, cols, partial, place);
  keep_from<TG>(key, from, to, cols, place);
}
