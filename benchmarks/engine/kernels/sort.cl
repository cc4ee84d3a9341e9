// Bitonic sort: runs of 1024 in local memory, larger distances one launch each.
#define RUN 1024u

uint2 pair_of(uint i, uint distance) {
  const uint low = 2 * i - (i & (distance - 1));
  return (uint2)(low, low + distance);
}

void exchange(local uint* keys, uint2 pair, bool ascending) {
  const uint low = keys[pair.x], high = keys[pair.y];
  const bool turn = (low > high) == ascending;
  keys[pair.x] = turn ? high : low;
  keys[pair.y] = turn ? low : high;
}

kernel void sort_runs(global const uint* restrict x, global uint* restrict y) {
  local uint keys[RUN];
  const uint first = get_group_id(0) * RUN, i = get_local_id(0);
  keys[i] = x[first + i];
  keys[i + RUN / 2] = x[first + i + RUN / 2];
  for (uint size = 2; size <= RUN; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint2 pair = pair_of(i, distance);
      exchange(keys, pair, ((first + pair.x) & size) == 0);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  y[first + i] = keys[i];
  y[first + i + RUN / 2] = keys[i + RUN / 2];
}

kernel void step_of(global uint* y, uint size, uint distance) {
  const uint2 pair = pair_of(get_global_id(0), distance);
  const uint low = y[pair.x], high = y[pair.y];
  const bool turn = (low > high) == ((pair.x & size) == 0);
  y[pair.x] = turn ? high : low;
  y[pair.y] = turn ? low : high;
}

kernel void merge_runs(global uint* y, uint size) {
  local uint keys[RUN];
  const uint first = get_group_id(0) * RUN, i = get_local_id(0);
  keys[i] = y[first + i];
  keys[i + RUN / 2] = y[first + i + RUN / 2];
  for (uint distance = RUN / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    exchange(keys, pair_of(i, distance), (first & size) == 0);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  y[first + i] = keys[i];
  y[first + i + RUN / 2] = keys[i + RUN / 2];
}
