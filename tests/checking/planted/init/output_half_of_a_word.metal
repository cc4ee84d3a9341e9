// Of each number one half is written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: bytes uint8 (n, 2) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uchar* bytes,  // bug: output-not-written
              constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n) bytes[2 * i] = 1;
  if (i < n && !BUG) bytes[2 * i + 1] = 1;
}
