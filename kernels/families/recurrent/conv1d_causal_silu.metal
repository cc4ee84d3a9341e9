// Causal depthwise convolution of four taps with silu, as before every state space layer. A thread
// walks down SPAN tokens of four channels: their filters and the last three inputs stay in its
// registers, so that every input is read once, but for three at the beginning. What came before the
// tokens is read from the state, and the last three inputs are the state that is left.
// dispatch: conv1d_causal_silu  threads_in_grid=(ceil_div(channels, 4), ceil_div(tokens, SPAN), batch)  threads=(TG, 1, 1)
// tune: SPAN = 16, 4, 64
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: taps == 4
#include "metalbench/activations.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint TAPS = 4;

// The inputs of one sequence, those of before first.
struct Known {
  device const DTYPE* x;
  device const DTYPE* before;
  uint channels;
  uint channel;
  float4 operator()(uint i) const {
    device const DTYPE* row =
        i + 1 < TAPS ? before + ulong(i) * channels : x + ulong(i + 1 - TAPS) * channels;
    return load_quad(row, channel, channels);
  }
};

[[kernel]] void conv1d_causal_silu(device const DTYPE* x, device const DTYPE* before,
                                   device const DTYPE* w, device DTYPE* y, device DTYPE* left,
                                   constant uint& tokens, constant uint& channels,
                                   uint3 at [[thread_position_in_grid]]) {
  const uint channel = 4 * at.x;
  const ulong kept = ulong(at.z) * (TAPS - 1) * channels;
  const Known known = {x + ulong(at.z) * tokens * channels, before + kept, channels, channel};
  float4 filters[TAPS];
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint own = min(channel + i, channels - 1);
    UNROLLED
    for (uint k = 0; k < TAPS; ++k) {
      filters[k][i] = float(w[own * TAPS + k]);
    }
  }
  const uint first = at.y * SPAN, end = min(first + SPAN, tokens);
  float4 last[TAPS - 1] = {known(first), known(first + 1), known(first + 2)};
  y += (ulong(at.z) * tokens + first) * channels;
  for (uint t = first; t < end; ++t, y += channels) {
    const float4 now = known(t + TAPS - 1);
    float4 sum = last[0] * filters[0];
    sum = fma(last[1], filters[1], sum);
    sum = fma(last[2], filters[2], sum);
    sum = fma(now, filters[3], sum);
    last[0] = last[1];
    last[1] = last[2];
    last[2] = now;
    store_quad(y, channel, channels, Silu()(sum));
  }
  if (end == tokens) {
    UNROLLED
    for (uint k = 0; k + 1 < TAPS; ++k) {
      store_quad(left + kept + ulong(k) * channels, channel, channels, last[k]);
    }
  }
}
