// The 4 experts of every token, largest logit first: one SIMD-group a token, which holds all of its
// logits in registers. A round is a maximum over the lanes and the lowest number that has it; the
// lane that owns it drops it. So ties go to the lower number without a sort, and nothing leaves the
// registers before the weights do.
// dispatch: moe_router  threadgroups=(ceil_div(tokens, TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

constant constexpr uint COUNT = 4;
constant constexpr uint HELD = 8;  // of a lane: 256 experts at most

[[kernel]] void moe_router(device const DTYPE* logits, device DTYPE* weights, device uint* expert,
                           constant uint& tokens, constant uint& experts,
                           uint group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint token = group * (TG / 32) + simdgroup;
  if (token >= tokens) {
    return;
  }
  float held[HELD];
  for (uint i = 0; i < HELD; ++i) {
    const uint at = lane + 32 * i;
    held[i] = at < experts ? float(logits[ulong(token) * experts + at]) : -INFINITY;
  }
  float found[COUNT];
  uint which[COUNT];
  for (uint rank = 0; rank < COUNT; ++rank) {
    float best = held[0];
    for (uint i = 1; i < HELD; ++i) {
      best = max(best, held[i]);
    }
    best = simd_max(best);
    uint first = 0xffffffffu;
    for (uint i = HELD; i-- > 0;) {
      first = held[i] == best ? lane + 32 * i : first;
    }
    first = simd_min(first);
    for (uint i = 0; i < HELD; ++i) {
      held[i] = lane + 32 * i == first ? -INFINITY : held[i];
    }
    found[rank] = best;
    which[rank] = first;
  }
  float sum = 0.0f;
  for (uint rank = 0; rank < COUNT; ++rank) {
    sum += precise::exp(found[rank] - found[0]);
  }
  for (uint rank = 0; rank < COUNT; ++rank) {
    if (lane == rank) {
      weights[token * COUNT + rank] = DTYPE(precise::exp(found[rank] - found[0]) / sum);
      expert[token * COUNT + rank] = which[rank];
    }
  }
}
