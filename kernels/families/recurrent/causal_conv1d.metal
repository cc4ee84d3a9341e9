// Four taps back along the tokens, each channel by itself, then silu. A thread has four channels and
// walks along RUN tokens with the last three in registers: each element is read once, and three at
// the start of a run once more.
// dispatch: causal_conv1d  threads_in_grid=(ceil_div(channels, 4), ceil_div(tokens, RUN))  threads=(TG, 1)
// tune: TG = 64, 32, 128
// tune: RUN = 16, 4, 64
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void causal_conv1d(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                              constant uint& tokens, constant uint& channels,
                              uint2 at [[thread_position_in_grid]]) {
  const uint column = 4 * at.x, first = at.y * RUN;
  float4 taps[4];
  for (uint i = 0; i < 4; ++i) {
    taps[i] = load_quad(w + i * channels, column, channels);
  }
  float4 before[3];
  for (uint i = 0; i < 3; ++i) {
    before[i] = 0.0f;
    if (first + i >= 3) {
      before[i] = load_quad(x + ulong(first + i - 3) * channels, column, channels);
    }
  }
  for (uint t = first; t < min(first + RUN, tokens); ++t) {
    const float4 now = load_quad(x + ulong(t) * channels, column, channels);
    float4 sum = taps[0] * before[0];
    sum = fma(taps[1], before[1], sum);
    sum = fma(taps[2], before[2], sum);
    sum = fma(taps[3], now, sum);
    store_quad(y + ulong(t) * channels, column, channels, sum / (1.0f + precise::exp(-sum)));
    before[0] = before[1];
    before[1] = before[2];
    before[2] = now;
  }
}
