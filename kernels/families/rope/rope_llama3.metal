// Rotary embedding with the frequencies of Llama 3.1, by which a model that was trained on short
// texts reads long ones: waves longer than old_context / low_factor are slowed down by stretch,
// those shorter than old_context / high_factor stay, and between them it is blended.
// dispatch: rope_llama3  threads_in_grid=(ceil_div(dims / 2, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

struct Banded {
  PlainFrequencies plain;
  float stretch;
  float low;
  float high;
  float context;
  float operator()(uint i) const {
    const float f = plain(i);
    const float waves = context * f * (0.5f / M_PI_F);
    const float t = clamp((waves - low) / (high - low), 0.0f, 1.0f);
    return f * ((1.0f - t) / stretch + t);
  }
};

[[kernel]] void rope_llama3(device const DTYPE* x, device const uint* position, device DTYPE* y,
                            constant uint& heads, constant uint& tokens, constant uint& dims,
                            constant float& base, constant float& stretch,
                            constant float& low_factor, constant float& high_factor,
                            constant float& old_context, uint3 place [[thread_position_in_grid]]) {
  const auto frequencies = Banded{{dims, base}, stretch, low_factor, high_factor, old_context};
  const Turn turn = Turn::of(frequencies, 4 * place.x, position[place.y]);
  turn_heads<HEADS>(turn, x, y, heads_inside(place.y, heads, dims), dims / 2, place);
}
