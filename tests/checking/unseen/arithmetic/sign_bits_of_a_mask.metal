// A mask of a number of bits, which may be all bits.
// tune: BUG = 1, 0
// value: n = 33
// buffer: y uint32 (n) output
// dispatch: masks threads_in_grid=(n) threads=(33)
#include <metal_stdlib>
using namespace metal;

kernel void masks(device uint* y, uint i [[thread_position_in_grid]]) {
  uint bits = BUG ? i : i % 32;
  y[i] = (1u << bits) - 1;  // bug: shift
}
