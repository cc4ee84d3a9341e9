// Marked elements of an array become those of another, in order and in place: the k-th that is marked
// the k-th of values. Others are not touched. How many marks come before a block is counted first, a
// number for each block; then each threadgroup adds those before its own and finds the places within
// it by prefix sums.
// inout: x
// dispatch: marks_of_blocks  threadgroups=(ceil_div(n, 4 * TG))  threads=(TG)
// dispatch: put_values  threadgroups=(ceil_div(n, 4 * TG))  threads=(TG)
// scratch: marks uint32 (ceil_div(n, 4 * TG))
// tune: TG = 256, 64, 128, 512
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
#include "metalbench/reduce.h"
using namespace metal;
using namespace metalbench;

static uint marked(bool4 mask) { return uint(mask.x) + uint(mask.y) + uint(mask.z) + uint(mask.w); }

[[kernel, max_total_threads_per_threadgroup(TG)]] void marks_of_blocks(
    device const bool* mask, device uint* marks, constant uint& n,
    uint group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup uint partial[TG / 32];
  const bool4 mine = load_quad(mask, 4 * (group * TG + thread_index), n);
  const uint all = group_sum<TG / 32>(marked(mine), partial, place);
  if (thread_index == 0) {
    marks[group] = all;
  }
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void put_values(
    device DTYPE* x, device const bool* mask, device const DTYPE* values,
    device const uint* marks, constant uint& n,
    uint group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup uint before[TG / 32];
  threadgroup uint counts[TG / 32];
  uint earlier = 0;
  for (uint i = thread_index; i < group; i += TG) {
    earlier += marks[i];
  }
  earlier = group_sum<TG / 32>(earlier, before, place);
  const uint first = 4 * (group * TG + thread_index);
  const bool4 mine = load_quad(mask, first, n);
  const uint count = marked(mine);
  uint at = earlier + simd_prefix_exclusive_sum(count);
  const uint of_simdgroup = simd_sum(count);
  if (lane == 0) {
    counts[simdgroup] = of_simdgroup;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < simdgroup; ++i) {
    at += counts[i];
  }
  for (uint i = 0; i < min(4u, n - min(first, n)); ++i) {
    if (mine[i]) {
      x[first + i] = values[at++];
    }
  }
}
