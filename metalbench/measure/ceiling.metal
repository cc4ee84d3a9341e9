// What no kernel can be many times as fast as: multiply-adds in registers, and loads of what stays
// in the first-level cache.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint chains = 8;

[[kernel]] void multiply_adds(device float* end, constant uint& steps,
                              uint i [[thread_position_in_grid]]) {
  float4 value[chains];
  for (uint c = 0; c < chains; ++c) value[c] = float4(float(i + c));
  for (uint step = 0; step < steps; ++step) {
    for (uint c = 0; c < chains; ++c) value[c] = fma(value[c], 0.999f, 0.5f);
  }
  float4 sum = 0;
  for (uint c = 0; c < chains; ++c) sum += value[c];
  end[i] = sum.x + sum.y + sum.z + sum.w;
}

// `near` has 4096 floats.
[[kernel]] void loads(device const float4* near, device float* end, constant uint& steps,
                      uint i [[thread_position_in_grid]]) {
  float4 sum[chains];
  for (uint c = 0; c < chains; ++c) sum[c] = 0;
  for (uint step = 0; step < steps; ++step) {
    const uint start = (i + step) * chains % 1024;
    for (uint c = 0; c < chains; ++c) sum[c] += near[start + c];
  }
  float4 total = 0;
  for (uint c = 0; c < chains; ++c) total += sum[c];
  end[i] = total.x + total.y + total.z + total.w;
}
