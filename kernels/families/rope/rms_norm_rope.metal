// Heads normalised by their root mean square, weighted and turned by their position in one pass, as
// Qwen 3 and Gemma 3 do with queries and keys: a SIMD-group has HEADS heads of one token, one after
// the other, and computes sines and cosines once for all of them. Columns i and i + dims/2 of a
// head lie in the same lane, so that the sum of squares is all that lanes tell each other.
// dispatch: rms_norm_rope  threadgroups=(ceil_div(heads, HEADS * TG / 32), tokens)  threads=(TG)
// tune: TG = 128, 32, 64
// tune: HEADS = 4, 16, 1, 8
// defaults: cpu TG = 32, HEADS = 16
// defaults: cuda TG = 32, HEADS = 16
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

// base^(-2i / dims), without a division in the loop over heads.
struct LoopFrequencies {
  Divisor dims;
  float base;
  float operator()(uint i) const { return rope_frequency(2 * i, dims, base); }
};

// Of quad `column` of both halves of a head.
struct Halves {
  float4 low;
  float4 high;
};

static Halves halves_of(device const DTYPE* head, uint column, uint half_dims) {
  return {load_quad(head, column, half_dims), load_quad(head + half_dims, column, half_dims)};
}

[[kernel]] void rms_norm_rope(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                              constant uint& heads, constant uint& tokens, constant uint& dims,
                              constant float& base, constant int& offset, constant float& eps,
                              uint2 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint half_dims = dims / 2;
  const uint position = group.y + uint(offset);
  const LoopFrequencies frequencies = {Divisor::of(dims), base};
  const Turn first_turn = Turn::of(frequencies, 4 * lane, position);
  // check: allow registers weights, sines and cosines stay in registers over all heads
  const Halves first_weights = halves_of(w, 4 * lane, half_dims);
  const uint begin = (group.x * (TG / 32) + simdgroup) * HEADS;
  const ulong pitch = ulong(tokens) * dims;
  ulong at = begin * pitch + ulong(group.y) * dims;
  for (uint head = begin; head < min(heads, begin + HEADS); ++head, at += pitch) {
    device const DTYPE* from = x + at;
    const Halves first = halves_of(from, 4 * lane, half_dims);
    float4 squares = first.low * first.low + first.high * first.high;
    for (uint column = 4 * lane + 128; column < half_dims; column += 128) {
      const Halves more = halves_of(from, column, half_dims);
      squares += more.low * more.low + more.high * more.high;
    }
    const float scale = precise::rsqrt(simd_sum(total(squares)) / float(dims) + eps);
    first_turn.turned(first.low * scale * first_weights.low,
                      first.high * scale * first_weights.high, y + at, 4 * lane, half_dims);
    for (uint column = 4 * lane + 128; column < half_dims; column += 128) {
      const Halves more = halves_of(from, column, half_dims);
      const Halves weights = halves_of(w, column, half_dims);
      const Turn turn = Turn::of(frequencies, column, position);
      turn.turned(more.low * scale * weights.low, more.high * scale * weights.high, y + at, column,
                  half_dims);
    }
  }
}
