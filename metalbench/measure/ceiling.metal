// What no kernel can be many times as fast as: multiply-adds in registers, and loads of what stays
// in the first-level cache.
#include <metal_stdlib>
using namespace metal;

// As many as keep a core's units busy, side by side as its vectors are.
constant constexpr uint chains = 8, lanes = 16;

[[kernel]] void multiply_adds(device float* end, constant uint& steps,
                              uint i [[thread_position_in_grid]]) {
  float value[chains][lanes];
  for (uint c = 0; c < chains; ++c) {
    for (uint k = 0; k < lanes; ++k) value[c][k] = float(i + c + k);
  }
  for (uint step = 0; step < steps; ++step) {
    for (uint c = 0; c < chains; ++c) {
      for (uint k = 0; k < lanes; ++k) value[c][k] = fma(value[c][k], 0.999f, 0.5f);
    }
  }
  float sum = 0;
  for (uint c = 0; c < chains; ++c) {
    for (uint k = 0; k < lanes; ++k) sum += value[c][k];
  }
  end[i] = sum;
}

// `near` has 4096 floats.
[[kernel]] void loads(device const float* near, device float* end, constant uint& steps,
                      uint i [[thread_position_in_grid]]) {
  float sum[chains][lanes];
  for (uint c = 0; c < chains; ++c) {
    for (uint k = 0; k < lanes; ++k) sum[c][k] = 0;
  }
  for (uint step = 0; step < steps; ++step) {
    const uint start = (i + step) % 32 * chains * lanes;
    for (uint c = 0; c < chains; ++c) {
      for (uint k = 0; k < lanes; ++k) sum[c][k] += near[start + c * lanes + k];
    }
  }
  float total = 0;
  for (uint c = 0; c < chains; ++c) {
    for (uint k = 0; k < lanes; ++k) total += sum[c][k];
  }
  end[i] = total;
}
