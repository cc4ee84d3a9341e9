// The 16 largest elements of each row, in descending order: one threadgroup per row.
// Every SIMD-group takes the 16 largest of its share, the first one then those of all shares.
// Taking them is 16 rounds of a SIMD-group maximum over what the lanes hold in registers: the lane
// that owns the maximum drops it, lane r keeps the r-th. Winners so far are carried along as one
// more register, and a block of columns that holds nothing larger than the last of them is skipped.
// dispatch: top_k  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * QUADS))))
// tune: TG = 1024, 32, 64, 128
// tune: QUADS = 8, 2, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
#include "metalbench/reduce.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint COUNT = 16;
constant constexpr uint MOST_SIMDGROUPS = TG / 32;

template <uint N>
static float largest_of(thread const float (&values)[N]) {
  float result = values[0];
  UNROLLED_ON_GPU
  for (uint i = 1; i < N; ++i) {
    result = max(result, values[i]);
  }
  return result;
}

// Lane r < COUNT gets the r-th largest of the SIMD-group's values, other lanes -inf.
template <uint N>
static float take(thread float (&values)[N], uint lane) {
  float result = -INFINITY;
  float mine = largest_of(values);
  for (uint rank = 0; rank < COUNT; ++rank) {
    const float best = simd_max(mine);
    const uint owner = simd_min(mine == best ? lane : 32u);
    result = lane == rank ? best : result;
    if (lane == owner) {
      bool dropped = false;
      UNROLLED_ON_GPU
      for (uint i = 0; i < N; ++i) {
        const bool drop = !dropped && values[i] == best;
        values[i] = drop ? -INFINITY : values[i];
        dropped = dropped || drop;
      }
      mine = largest_of(values);
    }
  }
  return result;
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void top_k(device const DTYPE* x, device DTYPE* y,
                                                             constant uint& cols,
                                                             uint row
                                                             [[threadgroup_position_in_grid]],
                                                             ROW_PLACE_ARGUMENTS) {
  const uint threads = threads_of<TG>(ROW_PLACE(LEAST, TG));
  const uint simdgroup_count = threads / 32;
  threadgroup float shares[MOST_SIMDGROUPS * COUNT];
  device const DTYPE* from = x + ulong(row) * cols;

  float winner = -INFINITY;
  for (uint block = 0; block < cols; block += 4 * threads * QUADS) {
    float values[4 * QUADS + 1];
    UNROLLED_ON_GPU
    for (uint i = 0; i < QUADS; ++i) {
      const float4 v = load_quad(from, block + 4 * (thread_index + i * threads), cols, -INFINITY);
      values[4 * i] = v.x;
      values[4 * i + 1] = v.y;
      values[4 * i + 2] = v.z;
      values[4 * i + 3] = v.w;
    }
    values[4 * QUADS] = -INFINITY;
    const float last = simd_broadcast(winner, COUNT - 1);
    if (simd_max(largest_of(values)) > last) {
      values[4 * QUADS] = winner;
      winner = take(values, lane);
    }
  }
  if (simdgroup_count == 1) {
    if (lane < COUNT) {
      y[row * COUNT + lane] = DTYPE(winner);
    }
    return;
  }
  if (lane < COUNT) {
    shares[simdgroup * COUNT + lane] = winner;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup != 0) {
    return;
  }

  float candidates[(MOST_SIMDGROUPS + 1) / 2];
  for (uint i = 0; i < (MOST_SIMDGROUPS + 1) / 2; ++i) {
    const uint index = lane + 32 * i;
    candidates[i] = index < simdgroup_count * COUNT ? shares[index] : -INFINITY;
  }
  winner = take(candidates, lane);
  if (lane < COUNT) {
    y[row * COUNT + lane] = DTYPE(winner);
  }
}
