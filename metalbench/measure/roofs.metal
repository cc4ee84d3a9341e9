// What a device reaches that does one thing alone: copies, reads, and multiply-adds in registers.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint parts = 8;

[[kernel]] void copies(device const float4* from, device float4* to,
                       uint i [[thread_position_in_grid]]) {
  to[i] = from[i];
}

// More than one load of a thread are under way at a time.
[[kernel]] void copies_of_parts(device const float4* from, device float4* to,
                                uint i [[thread_position_in_grid]],
                                uint n [[threads_per_grid]]) {
  float4 part[parts];
  for (uint k = 0; k < parts; ++k) part[k] = from[i + k * n];
  for (uint k = 0; k < parts; ++k) to[i + k * n] = part[k];
}

[[kernel]] void reads(device const float4* from, device float* end,
                      uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
  float4 sum = 0;
  for (uint part = 0; part < parts; ++part) sum += from[i + part * n];
  end[i] = sum.x + sum.y + sum.z + sum.w;
}

// As many as hide how long one of them takes. Of half precision, two are one instruction.
constant constexpr uint chains = 16;

template <typename T>
void multiply_adds(device float* end, uint steps, uint i) {
  vec<T, 2> value[chains];
  for (uint c = 0; c < chains; ++c) value[c] = vec<T, 2>(T(i + c), T(c));
  for (uint step = 0; step < steps; ++step) {
    for (uint c = 0; c < chains; ++c) {
      value[c] = value[c] * vec<T, 2>(T(0.75f)) + vec<T, 2>(T(0.5f));
    }
  }
  float sum = 0;
  for (uint c = 0; c < chains; ++c) sum += float(value[c].x) + float(value[c].y);
  end[i] = sum;
}

[[kernel]] void in_float32(device float* end, constant uint& steps,
                        uint i [[thread_position_in_grid]]) {
  multiply_adds<float>(end, steps, i);
}

[[kernel]] void in_float16(device float* end, constant uint& steps,
                        uint i [[thread_position_in_grid]]) {
  multiply_adds<half>(end, steps, i);
}
