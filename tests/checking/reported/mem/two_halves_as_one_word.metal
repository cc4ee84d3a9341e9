// Two halves from an odd place are copied as one word, as reported of apache/tvm#8540.
// tune: BUG = 1, 0
// value: rows = 8
// buffer: x float16 (rows, 3) normal
// buffer: y float16 (rows, 2) output
// dispatch: strided_slice threads_in_grid=(rows) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void strided_slice(device const half* x, device half* y, uint i [[thread_position_in_grid]]) {
  if (BUG) {
    *(device uint*)(y + 2 * i) = *(device const uint*)(x + 3 * i + 1);  // bug: misaligned
  } else {
    y[2 * i] = x[3 * i + 1];
    y[2 * i + 1] = x[3 * i + 2];
  }
}
