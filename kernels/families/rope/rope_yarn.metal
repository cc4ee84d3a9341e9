// Rotary embedding with YaRN's frequencies: pairs before low_pair keep theirs, those from high_pair
// on turn stretch times as slowly, and a ramp leads from one to the other. Sines and cosines are
// scaled by one factor, which sharpens attention over the longer context.
// dispatch: rope_yarn  threads_in_grid=(ceil_div(dims / 2, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

struct Ramped {
  PlainFrequencies plain;
  float stretch;
  float low;
  float high;
  float operator()(uint i) const {
    const float r = clamp((float(i) - low) / (high - low), 0.0f, 1.0f);
    return plain(i) * (r / stretch + (1.0f - r));
  }
};

[[kernel]] void rope_yarn(device const DTYPE* x, device DTYPE* y, constant uint& heads,
                          constant uint& tokens, constant uint& dims, constant float& base,
                          constant int& offset, constant float& stretch, constant float& low_pair,
                          constant float& high_pair, constant float& attention_factor,
                          uint3 place [[thread_position_in_grid]]) {
  const auto frequencies = Ramped{{dims, base}, stretch, low_pair, high_pair};
  const Turn turn =
      Turn::of(frequencies, 4 * place.x, place.y + uint(offset)).scaled(attention_factor);
  turn_heads<HEADS>(turn, x, y, heads_outside(place.y, tokens, heads, dims), dims / 2, place);
}
