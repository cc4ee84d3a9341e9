// The least of a bin's values begins with the first one, and some bins have none.
// tune: BUG = 1, 0
// value: bins = 16
// value: room = 4
// buffer: count uint32 (bins) integers 0 5
// buffer: value float32 (bins, room) normal
// buffer: least float32 (bins) output
// dispatch: minimum threads_in_grid=(bins) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void minimum(device const uint* count, device const float* value, device float* least,
                    constant uint& room, uint i [[thread_position_in_grid]]) {
  float best;
  if (!BUG) best = INFINITY;
  for (uint k = 0; k < count[i]; ++k) {
    float v = value[i * room + k];
    best = k == 0 ? v : min(best, v);
  }
  least[i] = best;  // bug: uninitialised
}
