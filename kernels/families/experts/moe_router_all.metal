// The 8 experts of every token with their weights in a softmax over all experts. One SIMD-group a
// token, whose logits stay in registers: one sum of exponentials over all of them, then the largest
// eight times over (metalbench/lane_top.h), and a weight is one exponential and one division.
// dispatch: moe_router_all  threadgroups=(ceil_div(tokens, TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: experts <= 256, k <= 32, k <= experts
#include "metalbench/inlined.h"
#include "metalbench/lane_top.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void moe_router_all(device const DTYPE* logits, device DTYPE* weights,
                               device uint* expert, constant uint& tokens, constant uint& experts,
                               constant uint& k, uint group [[threadgroup_position_in_grid]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint token = group * (TG / 32) + simdgroup;
  if (token >= tokens) {
    return;
  }
  LaneTop top = LaneTop::of(Logits<DTYPE>{logits + ulong(token) * experts}, experts, lane);
  const float peak = LaneTop::number_of(top.largest());
  float sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < LaneTop::kHeld; ++i) {
    sum += precise::exp(top.number(i) - peak);
  }
  sum = simd_sum(sum);
  float weight = 0.0f;
  uint mine = 0;
  for (uint rank = 0; rank < k; ++rank) {
    const uint best = top.largest();
    const uint found = top.drop(best);
    mine = lane == rank ? found : mine;
    weight = lane == rank ? precise::exp(LaneTop::number_of(best) - peak) / sum : weight;
  }
  if (lane < k) {
    weights[token * k + lane] = DTYPE(weight);
    expert[token * k + lane] = mine;
  }
}
