// The 8 experts of every token by score plus bias, with weights by score alone. A SIMD-group has a
// token, all of its sums in registers, and takes the largest eight times (metalbench/lane_top.h).
// Lane r keeps the r-th; the score itself is read again, which for eight experts of a token costs
// less than to hold it.
// dispatch: moe_router_biased  threadgroups=(ceil_div(tokens, TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: experts <= 256, k <= 32, k <= experts
#include "metalbench/lane_top.h"
using namespace metal;
using namespace metalbench;

struct BiasedScore {
  device const DTYPE* scores;
  device const DTYPE* bias;
  float operator()(uint i) const { return float(scores[i]) + float(bias[i]); }
};

[[kernel]] void moe_router_biased(device const DTYPE* scores, device const DTYPE* bias,
                                  device DTYPE* weights, device uint* expert, constant uint& tokens,
                                  constant uint& experts, constant uint& k,
                                  uint group [[threadgroup_position_in_grid]],
                                  uint lane [[thread_index_in_simdgroup]],
                                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint token = group * (TG / 32) + simdgroup;
  if (token >= tokens) {
    return;
  }
  device const DTYPE* own = scores + ulong(token) * experts;
  LaneTop top = LaneTop::of(BiasedScore{own, bias}, experts, lane);
  uint mine = 0;
  for (uint rank = 0; rank < k; ++rank) {
    const uint found = top.drop(top.largest());
    mine = lane == rank ? found : mine;
  }
  const float score = lane < k ? float(own[mine]) : 0.0f;
  const float sum = simd_sum(score);
  if (lane < k) {
    weights[token * k + lane] = DTYPE(2.5f * score / sum);
    expert[token * k + lane] = mine;
  }
}
