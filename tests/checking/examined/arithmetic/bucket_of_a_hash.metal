// Buckets are counted by a table whose size is still to come.
// tune: BUG = 1, 0
// value: n = 32
// value: buckets = 0
// buffer: x uint32 (n) integers 0 1000
// buffer: y uint32 (n) output
// dispatch: place threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

inline uint bucket(uint key, uint buckets) {
  return (key * 2654435761u) % buckets;  // bug: division
}

kernel void place(device const uint* x, device uint* y, constant uint& buckets,
                  uint i [[thread_position_in_grid]]) {
  y[i] = bucket(x[i], BUG ? buckets : buckets + 1);
}
