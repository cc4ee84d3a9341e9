// Non-maximum suppression keeps boxes in an array of the thread that is too short for a crowded image.
// tune: BUG = 1, 0
// value: images = 4
// value: boxes = 24
// buffer: score float32 (images, boxes) uniform
// buffer: best float32 (images) output
// dispatch: suppress threads_in_grid=(images) threads=(4)
#include <metal_stdlib>
using namespace metal;

kernel void suppress(device const float* score, device float* best, constant uint& boxes,
                     uint i [[thread_position_in_grid]]) {
  uint kept[8];
  uint count = 0;
  for (uint b = 0; b < boxes; ++b) {
    if (score[i * boxes + b] < 0.3f) continue;
    if (!BUG && count == 8) break;
    kept[count++] = b;  // bug: out-of-bounds
  }
  float sum = 0;
  for (uint k = 0; k < count && k < 8; ++k) sum += score[i * boxes + kept[k]];
  best[i] = sum;
}
