// Partials of attention over a split cache (split_decode.h): what each span of keys comes to, as a
// sum of values that is not divided yet, its largest score to base two, and the sum of weights
// relative to that; and how those of a query are joined.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// Where partials are: of query `query` and span `span`.
struct Partials {
  device float* out;      // (queries, spans, dims)
  device float2* levels;  // (queries, spans): largest score, sum
  uint spans;
  uint dims;
};

// The largest score and the sum of the partials of a query, as they are stored; see merge_partials.
struct StoredLevels {
  device const float2* levels;
  float2 operator()(uint i) const { return levels[i]; }
};

// Four columns of what the partials of a query come to, with a logit (to base two) that has no
// value, if it is not -inf.
template <typename Levels, typename T, typename Out>
inline void merge_partials(device const T* out, Levels levels, device Out* y, uint spans, uint dims,
                           uint column, float logit = -INFINITY) {
  // Eight spans at a time, whose numbers are on their way together.
  float level = logit;
  for (uint i = 0; i < spans; i += 8) {
    for (uint u = 0; u < 8; ++u) {
      level = max(level, levels(min(i + u, spans - 1)).x);
    }
  }
  float whole = logit > -INFINITY ? fast::exp2(logit - level) : 0.0f;
  float4 sum = 0.0f;
  for (uint i = 0; i < spans; i += 8) {
    float2 levels8[8];
    float4 sums[8];
    for (uint u = 0; u < 8; ++u) {
      levels8[u] = levels(min(i + u, spans - 1));
      sums[u] = load_quad(out + ulong(min(i + u, spans - 1)) * dims, column, dims);
    }
    for (uint u = 0; u < 8; ++u) {
      const bool counts = i + u < spans && levels8[u].x > -INFINITY;
      const float factor = counts ? fast::exp2(levels8[u].x - level) : 0.0f;
      whole = fma(factor, levels8[u].y, whole);
      sum = fma(factor, sums[u], sum);
    }
  }
  store_quad(y, column, dims, sum / whole);
}

}  // namespace metalbench
