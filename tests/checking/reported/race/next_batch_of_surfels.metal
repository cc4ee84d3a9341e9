// The next batch is loaded while slow threads still shade the last one, as reported of ORNL/HeCBench#253.
// tune: BUG = 1, 0
// value: surfels = 192
// value: pixels = 128
// buffer: surfel float32 (surfels, 4) uniform
// buffer: image float32 (pixels) output
// dispatch: render threadgroups=(ceil_div(pixels, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Surfel {
  float x, y, radius, colour;
};

kernel void render(device const Surfel* surfel, device float* image, constant uint& surfels,
                   uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]]) {
  threadgroup Surfel batch[64];
  float2 at = float2(i % 16, i / 16) / 16.0f;
  float colour = 0;
  for (uint begin = 0; begin < surfels; begin += 64) {
    batch[t] = surfel[begin + t];  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 64; ++k) {
      float2 d = at - float2(batch[k].x, batch[k].y);
      if (dot(d, d) < batch[k].radius) colour += batch[k].colour;
    }
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  image[i] = colour;
}
