// Bitonic sort: runs of 1024 in threadgroup memory, larger distances one launch each.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint RUN = 1024;

static uint2 pair_of(uint i, uint distance) {
  const uint low = 2 * i - (i & (distance - 1));
  return uint2(low, low + distance);
}

static void exchange(threadgroup uint* keys, uint2 pair, bool ascending) {
  const uint low = keys[pair.x], high = keys[pair.y];
  const bool turn = (low > high) == ascending;
  keys[pair.x] = turn ? high : low;
  keys[pair.y] = turn ? low : high;
}

kernel void sort_runs(device const uint* x, device uint* y,
                      uint group [[threadgroup_position_in_grid]],
                      uint i [[thread_position_in_threadgroup]]) {
  threadgroup uint keys[RUN];
  const uint first = group * RUN;
  keys[i] = x[first + i];
  keys[i + RUN / 2] = x[first + i + RUN / 2];
  for (uint size = 2; size <= RUN; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      const uint2 pair = pair_of(i, distance);
      exchange(keys, pair, ((first + pair.x) & size) == 0);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[first + i] = keys[i];
  y[first + i + RUN / 2] = keys[i + RUN / 2];
}

kernel void step_of(device uint* y, constant uint& size, constant uint& distance,
                 uint i [[thread_position_in_grid]]) {
  const uint2 pair = pair_of(i, distance);
  const uint low = y[pair.x], high = y[pair.y];
  const bool turn = (low > high) == ((pair.x & size) == 0);
  y[pair.x] = turn ? high : low;
  y[pair.y] = turn ? low : high;
}

kernel void merge_runs(device uint* y, constant uint& size,
                       uint group [[threadgroup_position_in_grid]],
                       uint i [[thread_position_in_threadgroup]]) {
  threadgroup uint keys[RUN];
  const uint first = group * RUN;
  keys[i] = y[first + i];
  keys[i + RUN / 2] = y[first + i + RUN / 2];
  for (uint distance = RUN / 2; distance > 0; distance /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    exchange(keys, pair_of(i, distance), (first & size) == 0);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[first + i] = keys[i];
  y[first + i + RUN / 2] = keys[i + RUN / 2];
}
