// How many proposed tokens are accepted, and the token behind them, by speculative sampling
// (Leviathan et al., 2023): token i of a draft is accepted if u_i q(x_i) < p(x_i), and the first
// that is not is drawn anew by max(0, p - q); behind a draft that is accepted as a whole a token is
// drawn by p. Every row of logits is read once for the sums of its exponentials, all rows at the
// same time. The rows of the position that decides are read once more, for the draw by Gumbel's
// numbers: the residual is not stored.
// dispatch: sum_rows  threadgroups=(drafted + 1, texts)  threads=(TG)
// dispatch: decide  threadgroups=(texts)  threads=(TG)
// scratch: sums float32 (texts, drafted + 1, 4)
// tune: TG = 1024, 256, 512
// defaults: cpu TG = 256
// dtypes: float32, float16, bfloat16
// limits: texts * vocabulary <= 4294967292
#include "metalbench/arg_rows.h"
#include "metalbench/softmax.h"
#include "metalbench/threefry.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sum_rows(
    device const DTYPE* target, device const DTYPE* draft, device float* sums,
    constant uint& drafted, constant uint& vocabulary, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float2 partial[2][TG / 32];
  const uint row = group.y * (drafted + 1) + group.x;
  device float4* to = (device float4*)sums + row;
  const ExpSum of_target =
      row_exp_sum<TG>(row_of(target, row, vocabulary, -INFINITY), partial[0], PLACE);
  ExpSum of_draft = {0.0f, 0.0f};
  if (group.x < drafted) {
    of_draft = row_exp_sum<TG>(row_of(draft, row - group.y, vocabulary, -INFINITY), partial[1],
                               PLACE);
  }
  if (thread_index == 0) {
    *to = float4(of_target.peak, 1.0f / of_target.sum, of_draft.peak, 1.0f / of_draft.sum);
  }
}

// Probabilities of a row of logits; zeros where there is none.
struct Odds {
  device const DTYPE* logits;
  float peak;
  float inverse;
  float operator()(uint token) const {
    return precise::exp(float(logits[token]) - peak) * inverse;
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void decide(
    device const DTYPE* target, device const DTYPE* draft, device const uint* proposed,
    device const float* uniform, device const uint* key, device const float* sums,
    device uint* accepted, device uint* token, constant uint& texts, constant uint& drafted,
    constant uint& vocabulary, uint text [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ArgMemory<TG / 32> memory;
  Odds p, q;
  uint count = 0;
  for (;; ++count) {
    const uint row = text * (drafted + 1) + count, draft_row = text * drafted + count;
    const float4 sum = ((device const float4*)sums)[row];
    p = {target + ulong(row) * vocabulary, sum.x, sum.y};
    q = {draft + ulong(draft_row) * vocabulary, sum.z, sum.w};
    if (count == drafted) {
      break;
    }
    const uint next = proposed[draft_row];
    if (uniform[draft_row] * q(next) >= p(next)) {
      break;
    }
  }
  Candidate best = {-INFINITY, UINT_MAX};
  for (uint i = thread_index; i < vocabulary; i += TG) {
    const float residual = p(i) - (count < drafted ? q(i) : 0.0f);
    if (residual > 0.0f) {
      const uint word = threefry_word(text * vocabulary + i, texts * vocabulary, key[0], key[1]);
      const float gumbel = -precise::log(-precise::log(unit_of(word)));
      best = better(best, precise::log(residual) + gumbel, i);
    }
  }
  first_of_best<TG / 32>(best, token + text, memory, PLACE);
  if (thread_index == 0) {
    accepted[text] = count;
  }
}
