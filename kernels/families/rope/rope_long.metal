// Rotary embedding with a factor for every pair (LongRoPE, as Phi-3 has it): frequencies are
// divided by factors that a search has found, and the heads scaled by one number, which is
// multiplied into sines and cosines rather than into every element.
// dispatch: rope_long  threads_in_grid=(ceil_div(dims / 2, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

struct Divided {
  PlainFrequencies plain;
  device const float* factors;
  float operator()(uint i) const { return i < plain.dims / 2 ? plain(i) / factors[i] : 0.0f; }
};

[[kernel]] void rope_long(device const DTYPE* x, device const float* factors, device DTYPE* y,
                          constant uint& heads, constant uint& tokens, constant uint& dims,
                          constant float& base, constant int& offset,
                          constant float& attention_factor,
                          uint3 place [[thread_position_in_grid]]) {
  const auto frequencies = Divided{{dims, base}, factors};
  const Turn turn =
      Turn::of(frequencies, 4 * place.x, place.y + uint(offset)).scaled(attention_factor);
  turn_heads<HEADS>(turn, x, y, heads_outside(place.y, tokens, heads, dims), dims / 2, place);
}
