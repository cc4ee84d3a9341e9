// The best four of a row in order, moved on by one too many.
// tune: BUG = 1, 0
// value: rows = 16
// buffer: x float32 (rows, 32) normal
// buffer: y float32 (rows, 4) output
// dispatch: best threads_in_grid=(rows) threads=(16)
#include <metal_stdlib>
using namespace metal;

constant constexpr int kBest = 4;

kernel void best(device const float* x, device float* y, uint row [[thread_position_in_grid]]) {
  float found[kBest];
  for (int k = 0; k < kBest; ++k) found[k] = -INFINITY;
  for (int c = 0; c < 32; ++c) {
    const float value = x[row * 32 + c];
    int place = 0;
    while (place < kBest && found[place] >= value) ++place;
    if (place == kBest) continue;
    for (int k = kBest - (BUG ? 0 : 1); k > place; --k) {
      found[k] = found[k - 1];  // bug: out-of-bounds
    }
    found[place] = value;
  }
  for (int k = 0; k < kBest; ++k) y[row * kBest + k] = found[k];
}
