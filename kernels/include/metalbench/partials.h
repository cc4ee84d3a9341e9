// Partials of attention over a split cache (split_decode.h): what each span of keys comes to, as a
// sum of values that is not divided yet, its largest score to base two, and the sum of weights
// relative to that; and how those of a query are joined.
#pragma once
#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

// Where partials are: of query `query` and span `span`.
struct Partials {
  device float* out;      // (queries, spans, dims)
  device float2* levels;  // (queries, spans): largest score, sum
  uint spans;
  uint dims;
};

// The largest score and the sum of the partials of a query, as they are stored.
struct StoredLevels {
  device const float2* levels;
  float2 operator()(uint i) const { return levels[i]; }
};

// What the partials of a query come to, with a logit (to base two) that has no value, if it is not
// -inf. SIMD-groups take turns at spans, whose numbers are on their way together: spans are few,
// and what takes time is to wait for memory.
template <uint SimdGroups>
struct Merge {
  static constant constexpr uint kSpans = 8;  // at a time

  struct Memory {
    float whole[SimdGroups];
    float4 sums[SimdGroups][32];
  };

  template <typename Levels, typename T, typename Out>
  static void join(device const T* out, Levels levels, device Out* y, uint spans, uint dims,
                   threadgroup Memory& memory, Place place, float logit = -INFINITY) {
    float level = logit;
    for (uint i = 0; i < spans; i += 32) {
      level = max(level, levels(min(i + place.lane, spans - 1)).x);
    }
    level = simd_max(level);
    for (uint first = 0; first < dims; first += 128) {
      const uint column = first + 4 * place.lane;
      float whole = 0.0f;
      float4 sum = 0.0f;
      for (uint i = place.simdgroup; i < spans; i += kSpans * SimdGroups) {
        add(out, levels, i, spans, dims, column, level, whole, sum);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      memory.whole[place.simdgroup] = whole;
      memory.sums[place.simdgroup][place.lane] = sum;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (place.simdgroup == 0) {
        whole = logit > -INFINITY ? fast::exp2(logit - level) : 0.0f;
        sum = 0.0f;
        for (uint i = 0; i < SimdGroups; ++i) {
          whole += memory.whole[i];
          sum += memory.sums[i][place.lane];
        }
        store_quad(y, column, dims, sum / whole);
      }
    }
  }

  // Spans i, i + SimdGroups ..
  template <typename Levels, typename T>
  static void add(device const T* out, Levels levels, uint i, uint spans, uint dims, uint column,
                  float level, thread float& whole, thread float4& sum) {
    float2 own[kSpans];
    float4 sums[kSpans];
    UNROLLED_ON_GPU
    for (uint u = 0; u < kSpans; ++u) {
      const uint span = min(i + u * SimdGroups, spans - 1);
      own[u] = levels(span);
      // check: allow registers spans are few: loads that are on their way together save most time
      sums[u] = load_quad(out + ulong(span) * dims, column, dims);
    }
    UNROLLED_ON_GPU
    for (uint u = 0; u < kSpans; ++u) {
      const bool counts = i + u * SimdGroups < spans && own[u].x > -INFINITY;
      const float factor = counts ? fast::exp2(own[u].x - level) : 0.0f;
      whole = fma(factor, own[u].y, whole);
      sum = fma(factor, sums[u], sum);
    }
  }
};

// The last dispatch of an attention over spans of keys, with a threadgroup of 256 threads for each
// query: joins the partials of `query`. Needs
//   dispatch: merge  threadgroups=(queries)  threads=(256)
using MergeMemory = Merge<8>::Memory;

template <typename Out>
inline void merge_spans(device const float* out, device const float* levels, device Out* y,
                        uint query, uint spans, uint dims, threadgroup MergeMemory& memory,
                        Place place, float logit = -INFINITY) {
  const ulong first = ulong(query) * spans;
  Merge<8>::join(out + first * dims, StoredLevels{(device const float2*)levels + first},
                 y + ulong(query) * dims, spans, dims, memory, place, logit);
}

}  // namespace metalbench
