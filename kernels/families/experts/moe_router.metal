// The 4 experts of every token, largest logit first: one SIMD-group a token, which holds all of its
// logits in registers. A round is a maximum over the lanes and the lowest number that has it
// (metalbench/lane_top.h). So ties go to the lower number without a sort, and nothing leaves the
// registers before the weights do.
// dispatch: moe_router  threadgroups=(ceil_div(tokens, TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: experts <= 256, k <= 32, k <= experts
#include "metalbench/lane_top.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void moe_router(device const DTYPE* logits, device DTYPE* weights, device uint* expert,
                           constant uint& tokens, constant uint& experts, constant uint& k,
                           uint group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint token = group * (TG / 32) + simdgroup;
  if (token >= tokens) {
    return;
  }
  LaneTop top = LaneTop::of(Logits<DTYPE>{logits + ulong(token) * experts}, experts, lane);
  const float peak = LaneTop::number_of(top.largest());
  float power = 0.0f;
  uint mine = 0;
  for (uint rank = 0; rank < k; ++rank) {
    const uint best = top.largest();
    const uint found = top.drop(best);
    mine = lane == rank ? found : mine;
    power = lane == rank ? precise::exp(LaneTop::number_of(best) - peak) : power;
  }
  const float sum = simd_sum(power);
  if (lane < k) {
    weights[token * k + lane] = DTYPE(power / sum);
    expert[token * k + lane] = mine;
  }
}
