// A probe of the clock: a chain of fused multiply-adds in registers, each waiting for the last, so
// that its time is `steps` latencies at the present clock and nothing else.
#include <metal_stdlib>
using namespace metal;

[[kernel]] void probe(device float* end, constant uint& steps,
                      uint lane [[thread_position_in_grid]]) {
  float value = float(lane);
  for (uint step = 0; step < steps; ++step) {
    value = fma(value, 0.999f, 0.5f);
    value = fma(value, 0.998f, 0.25f);
    value = fma(value, 0.997f, 0.125f);
    value = fma(value, 0.996f, 0.0625f);
  }
  end[lane] = value;
}
