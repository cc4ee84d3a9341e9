// A polynomial hash in a signed type.
// tune: BUG = 1, 0
// value: n = 32
// buffer: text int32 (n, 16) integers 32 127
// buffer: y int32 (n) output
// dispatch: hash_rows threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void hash_rows(device const int* text, device int* y, uint i [[thread_position_in_grid]]) {
  int h = 17;
  uint u = 17;
  for (uint k = 0; k < 16; ++k) {
    if (BUG) h = h * 31 + text[i * 16 + k];  // bug: signed-overflow
    u = u * 31 + uint(text[i * 16 + k]);
  }
  y[i] = BUG ? h : int(u);
}
