// A token of every row of logits, with all that samplers of language models do, in one dispatch: a
// penalty for tokens that were there before, a temperature, top-k, top-p, min-p, and a draw by
// Gumbel's numbers (metalbench/sampling.h). One threadgroup a row, which it reads twice: what can
// stay goes into threadgroup memory, where it is sorted. No row of a whole vocabulary is sorted or
// written.
// dispatch: sample_token  threadgroups=(rows)  threads=(TG)
// tune: TG = 1024, 256, 512
// defaults: cpu TG = 256
// dtypes: float32, float16, bfloat16
// limits: rows * vocabulary <= 4294967292
#include "metalbench/sampling.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sample_token(
    device const DTYPE* logits, device const uint* seen, device const uint* key, device uint* y,
    constant uint& rows, constant uint& vocabulary, constant int& tokens, constant float& penalty,
    constant float& temperature, constant int& count, constant float& p, constant float& least,
    uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup SamplingMemory<TG> memory;
  const uint first = row * vocabulary;
  const PenalisedRow<TG, DTYPE> from = {
      logits + first, vocabulary, seen + row * uint(tokens), uint(tokens), penalty, memory.marks,
      PLACE};
  const SamplingRule rule = {temperature, uint(count), p, least};
  const GumbelNumbers gumbel = {first, rows * vocabulary, {key[0], key[1]}};
  const Sampler<TG, DTYPE> sampler = {from, rule, gumbel, memory, PLACE};
  sampler.draw(y + row);
}
