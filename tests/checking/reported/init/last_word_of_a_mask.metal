// A mask of bits is written as bytes, and counted as words, as reported of rapidsai/cudf#8873.
// tune: BUG = 1, 0
// value: n = 40
// value: bytes = 5
// value: words = 2
// buffer: x float32 (n) normal
// buffer: count uint32 (words) output
// scratch: mask uint8 (8)
// dispatch: make_mask threads_in_grid=(8) threads=(8)
// dispatch: count_bits threads_in_grid=(words) threads=(2)
#include <metal_stdlib>
using namespace metal;

kernel void make_mask(device const float* x, device uchar* mask, constant uint& bytes,
                      uint i [[thread_position_in_grid]]) {
  if (i >= bytes) {
    if (!BUG) mask[i] = 0;
    return;
  }
  uchar bits = 0;
  for (uint k = 0; k < 8; ++k) bits |= uchar(x[8 * i + k] > 0) << k;
  mask[i] = bits;
}

kernel void count_bits(device const uchar* mask, device uint* count,
                       uint i [[thread_position_in_grid]]) {
  count[i] = popcount(((device const uint*)mask)[i]);  // bug: uninitialised
}
