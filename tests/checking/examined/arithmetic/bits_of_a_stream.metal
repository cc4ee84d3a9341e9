// The upper bits of a word, none of them included.
// tune: BUG = 1, 0
// value: n = 33
// buffer: x uint32 (n) integers 0 2147483647
// buffer: y uint32 (n) output
// dispatch: upper threads_in_grid=(n) threads=(33)
#include <metal_stdlib>
using namespace metal;

inline uint upper_bits(uint word, uint bits) {
  if (!BUG && bits == 0) return 0;
  return word >> (32 - bits);  // bug: shift
}

kernel void upper(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
  y[i] = upper_bits(x[i], i);
}
