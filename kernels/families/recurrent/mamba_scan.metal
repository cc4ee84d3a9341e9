// Selective state space: one thread a channel, whose 16 states stay in its registers from the first
// token to the last. Lanes have neighbouring channels, so that x, dt and y move in whole cache
// lines; b and c are the same for all lanes of a token, a broadcast. The states decay by an
// exponential each, which is what the time goes to.
// dispatch: mamba_scan  threads_in_grid=(channels)  threads=(TG)
// tune: TG = 64, 32, 128
// dtypes: float32, float16, bfloat16
// limits: states == 16
#include <metal_stdlib>

#include "metalbench/inlined.h"
using namespace metal;

constant constexpr uint STATES = 16;

[[kernel]] void mamba_scan(device const DTYPE* x, device const DTYPE* dt, device const DTYPE* a_log,
                           device const DTYPE* b, device const DTYPE* c, device const DTYPE* skip,
                           device DTYPE* y, constant uint& tokens, constant uint& channels,
                           uint channel [[thread_position_in_grid]]) {
  float state[STATES];
  float rate[STATES];
  UNROLLED
  for (uint i = 0; i < STATES; ++i) {
    state[i] = 0.0f;
    // check: allow strided-access a thread reads all of its few rates, which share cache lines
    rate[i] = -precise::exp(float(a_log[channel * STATES + i]));
  }
  const float through = float(skip[channel]);
  for (uint t = 0; t < tokens; ++t) {
    const ulong at = ulong(t) * channels + channel;
    const float in = float(x[at]), step = float(dt[at]);
    float out = through * in;
    UNROLLED
    for (uint i = 0; i < STATES; ++i) {
      state[i] = fma(precise::exp(rate[i] * step), state[i], step * in * float(b[t * STATES + i]));
      out = fma(state[i], float(c[t * STATES + i]), out);
    }
    y[at] = DTYPE(out);
  }
}
