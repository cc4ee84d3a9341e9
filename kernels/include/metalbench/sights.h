// Which keys a query of attention.h sees, and what is added to the scores of those it sees. What is
// added is divided by the scale of the scores first, as they are scaled afterwards.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// The last `width` keys up to the query itself.
struct WindowSight {
  uint width;
  uint first(uint query) const { return query + 1 > width ? query + 1 - width : 0; }
  uint end(uint query, uint keys) const { return min(keys, query + 1); }
  float4 scores(float4 raw, uint query, uint key) const {
    return select(float4(-INFINITY), raw, key + uint4(0, 1, 2, 3) >= first(query));
  }
};

// Keys by a mask of bools (queries, keys).
struct MaskSight {
  device const bool* mask;
  uint queries;
  uint keys;
  uint first(uint) const { return 0; }
  uint end(uint, uint all) const { return all; }
  float4 scores(float4 raw, uint query, uint key) const {
    device const bool* row = mask + ulong(min(query, queries - 1)) * keys;
    return select(float4(-INFINITY), raw, load_quad(row, key, keys, false));
  }
};

// All of the first `before` keys, and by a mask (queries, queries) those that the queries brought.
struct TreeSight {
  device const bool* mask;
  uint queries;
  uint before;
  uint first(uint) const { return 0; }
  uint end(uint, uint keys) const { return keys; }
  float4 scores(float4 raw, uint query, uint key) const {
    device const bool* row = mask + ulong(min(query, queries - 1)) * queries;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (key + i >= before && key + i < before + queries && !row[key + i - before]) {
        raw[i] = -INFINITY;
      }
    }
    return raw;
  }
};

// What another Sight sees, with scores s that become cap tanh(s / cap), so that none is above the
// cap: soft-capping.
template <typename Sight>
struct CappedSight {
  Sight sight;
  float cap;
  float root;  // of dims
  uint first(uint query) const { return sight.first(query); }
  uint end(uint query, uint keys) const { return sight.end(query, keys); }
  float4 scores(float4 raw, uint query, uint key) const {
    const float scaled_cap = cap * root;
    return sight.scores(scaled_cap * precise::tanh(raw / scaled_cap), query, key);
  }
};

// A bias for each distance from a query to a key, from -(tokens - 1) to tokens - 1.
template <typename T>
struct DistanceBias {
  device const T* bias;
  uint tokens;
  float root;  // of dims
  uint first(uint) const { return 0; }
  uint end(uint, uint keys) const { return keys; }
  float4 scores(float4 raw, uint query, uint key) const {
    const uint column = key + tokens - 1 - min(query, tokens - 1);
    return fma(load_quad(bias, column, 2 * tokens - 1), root, raw);
  }
};

// Causal, less the distance times a slope of the head: positions without embeddings (ALiBi).
struct SlopeBias {
  float slope;
  float root;
  uint first(uint) const { return 0; }
  uint end(uint query, uint keys) const { return min(keys, query + 1); }
  float4 scores(float4 raw, uint query, uint key) const {
    const float4 distance = float(query) - (float(key) + float4(0, 1, 2, 3));
    return fma(distance, -slope * root, raw);
  }
};

}  // namespace metalbench
