// The sum over whole arrays as a single number, in two dispatches without atomics: threadgroups add
// a share each, of a fixed number of quads a thread, and one threadgroup then adds their sums. Every
// sum is a tree of fixed shape, so the result is accurate and has the same bits each time. With
// tunables TG and QUADS as template arguments:
//   dispatch: first  threadgroups=(ceil_div(count, 4 * TG * QUADS))  threads=(TG)
//   dispatch: finish  threadgroups=(1)  threads=(128)
//   scratch: partial float32 (ceil_div(count, 4 * TG * QUADS))
#pragma once
#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

// The threadgroups of the first dispatch.
template <uint Threads, uint Quads>
inline uint shares_of(uint count) {
  return (count + 4 * Threads * Quads - 1) / (4 * Threads * Quads);
}

// The sum of f(x...) over the share of threadgroup `group`. f of zeros is zero.
template <uint Threads, uint Quads, typename F, typename... Inputs>
inline float sum_of_share(F f, uint count, uint group, threadgroup float* partial, Place place,
                          device const Inputs*... x) {
  const uint quads = (count + 3) / 4;
  const uint end = min(quads, (group + 1) * Threads * Quads);
  float4 sum = 0.0f;
  for (uint i = group * Threads * Quads + place.thread_index; i < end; i += Threads) {
    sum += f(load_quad(x, 4 * i, count)...);
  }
  return group_sum<Threads / 32>(total(sum), partial, place);
}

// The same, left where the second dispatch finds it.
template <uint Threads, uint Quads, typename F, typename... Inputs>
inline void store_share(F f, uint count, uint group, device float* shares,
                        threadgroup float* partial, Place place, device const Inputs*... x) {
  const float sum = sum_of_share<Threads, Quads>(f, count, group, partial, place, x...);
  if (place.thread_index == 0) {
    shares[group] = sum;
  }
}

// The sum of what `groups` threadgroups have left, by a threadgroup of Finishers threads.
constant constexpr uint Finishers = 128;

inline float sum_of_shares(device const float* shares, uint groups, threadgroup float* partial,
                           Place place) {
  float sum = 0.0f;
  for (uint i = place.thread_index; i < groups; i += Finishers) {
    sum += shares[i];
  }
  return group_sum<Finishers / 32>(sum, partial, place);
}

}  // namespace metalbench
