// Eight-byte words behind a header of four bytes.
// tune: BUG = 1, 0
// value: n = 16
// buffer: data uint32 (40) integers 0 100
// buffer: y uint32 (n) output
// dispatch: words threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void words(device const uint* data, device uint* y, uint i [[thread_position_in_grid]]) {
  const uint header = BUG ? 1 : 2;
  device const ulong* body = (device const ulong*)(data + header);
  y[i] = uint(body[i] & 0xffff);  // bug: misaligned
}
