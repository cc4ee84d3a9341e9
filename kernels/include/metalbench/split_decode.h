// Attention of few queries over a long cache, in two dispatches, so that there is work for a whole
// GPU however few heads there are. In the first a threadgroup has a span of the keys of one kv head
// and several queries that share them: every row of the cache is read once for all of these. Its
// SIMD-groups take turns at four or eight keys at a time, whose rows are on their way together.
// What a span comes to is a *partial*: a sum of values that is not divided yet, as floats; its
// largest score, to base two; and the sum of weights relative to that. In the second dispatch
// partials are joined.
//
// A cache is a template parameter:
//   Four              four elements as they lie there, or floats
//   key(i, column)    those of the i-th key; zeros past its end
//   value(i, column)  the same of its value
//   seen(i)           whether it takes part
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/partials.h"
#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

constant constexpr float kLog2E = 1.44269504f;

// Rows of `dims` elements.
template <typename T>
struct RowCache {
  using Four = float4;
  device const T* k;
  device const T* v;
  uint dims;
  float4 key(uint i, uint column) const { return load_quad(k + ulong(i) * dims, column, dims); }
  float4 value(uint i, uint column) const { return load_quad(v + ulong(i) * dims, column, dims); }
  bool seen(uint) const { return true; }
};

// Rows of whole quads, which begin where vectors may be loaded: NVIDIA's GPUs load no vector from
// elsewhere. Past its end a row repeats its last quad: a query has zeros there, and of sums that
// lie there nothing is stored.
template <typename T>
struct WholeRowCache {
  using Four = Quad<T>;
  device const T* k;
  device const T* v;
  uint dims;
  Four key(uint i, uint column) const { return quad(k, i, column); }
  Four value(uint i, uint column) const { return quad(v, i, column); }
  bool seen(uint) const { return true; }

  Four quad(device const T* rows, uint i, uint column) const {
    return *(device const Four*)(rows + ulong(i) * dims + min(column, dims - 4));
  }
};

// Another cache, with scores s that become cap tanh(s / cap): soft-capping.
template <typename Cache>
struct CappedCache {
  using Four = typename Cache::Four;
  Cache cache;
  float cap;
  Four key(uint i, uint column) const { return cache.key(i, column); }
  Four value(uint i, uint column) const { return cache.value(i, column); }
  bool seen(uint i) const { return cache.seen(i); }
};

// Scores, to base two, before they become weights.
template <typename Cache>
inline float4 change_scores(Cache, float4 scores) {
  return scores;
}
template <typename Cache>
inline float4 change_scores(CappedCache<Cache> capped, float4 scores) {
  const float cap = kLog2E * capped.cap;
  return cap * precise::tanh(scores / cap);
}

template <uint SimdGroups, uint Queries, uint MaxDims>
struct SplitDecode {
  static constant constexpr uint kQuads = (MaxDims + 127) / 128;  // of a lane

  struct Memory {
    float2 levels[Queries][SimdGroups];
    float4 out[SimdGroups][32 * kQuads];
  };

  float4 query[Queries][kQuads];
  float4 out[Queries][kQuads];
  float peak[Queries];
  float sum[Queries];

  // Queries first.. of the `queries` at `q`; those past the last repeat it.
  template <typename T>
  SplitDecode(device const T* q, uint first, uint queries, uint dims, Place place) {
    const float scale = kLog2E * rsqrt(float(dims));
    UNROLLED
    for (uint g = 0; g < Queries; ++g) {
      device const T* from = q + ulong(min(first + g, queries - 1)) * dims;
      UNROLLED
      for (uint j = 0; j < kQuads; ++j) {
        // check: allow registers queries stay in registers over all keys
        query[g][j] = load_quad(from, 4 * (place.lane + 32 * j), dims) * scale;
        out[g][j] = 0.0f;
      }
      peak[g] = -INFINITY;
      sum[g] = 0.0f;
    }
  }

  // How many keys at a time: twice as many where a lane has only eight bytes of each, and these
  // become floats by one instruction, as halves do: others take more registers on the way.
  template <typename Cache>
  static constant constexpr uint kKeys =
      kQuads == 1 && is_same_v<typename Cache::Four, half4> ? 8 : 4;

  // Keys begin .. end - 1, by this SIMD-group's turns. Where registers are enough, values are on
  // their way while scores are made. Rows of more than 256 dims would take too many: they come quad
  // by quad.
  template <typename Cache>
  void walk(Cache cache, uint begin, uint end, Place place) {
    constexpr uint count = kKeys<Cache>;
    constexpr bool early = kQuads == 1;
    for (uint i = begin + count * place.simdgroup; i < end; i += count * SimdGroups) {
      float4 weights[Queries][count / 4];
      typename Cache::Four values[count];
      if (kQuads > 2) {
        weigh_by_quads(cache, i, end, weights, place);
      } else {
        typename Cache::Four rows[count][kQuads];
        UNROLLED
        for (uint u = 0; u < count; ++u) {
          UNROLLED
          for (uint j = 0; j < kQuads; ++j) {
            // check: allow registers queries, results and the rows of several keys are in registers
            rows[u][j] = cache.key(min(i + u, end - 1), 4 * (place.lane + 32 * j));
          }
        }
        UNROLLED
        for (uint u = 0; early && u < count; ++u) {
          values[u] = cache.value(min(i + u, end - 1), 4 * place.lane);
        }
        UNROLLED
        for (uint g = 0; g < Queries; ++g) {
          weigh(cache, g, rows, i, end, weights[g]);
        }
      }
      UNROLLED
      for (uint u = 0; u < count; ++u) {
        UNROLLED
        for (uint j = 0; j < kQuads; ++j) {
          const float4 value = float4(
              early ? values[u] : cache.value(min(i + u, end - 1), 4 * (place.lane + 32 * j)));
          UNROLLED
          for (uint g = 0; g < Queries; ++g) {
            out[g][j] = fma(weights[g][u / 4][u % 4], value, out[g][j]);
          }
        }
      }
    }
  }

  template <typename Cache, uint Count>
  void weigh_by_quads(Cache cache, uint i, uint end, thread float4 (&weights)[Queries][Count],
                      Place place) {
    float4 products[Queries][4 * Count] = {};
    UNROLLED
    for (uint j = 0; j < kQuads; ++j) {
      UNROLLED
      for (uint u = 0; u < 4 * Count; ++u) {
        const float4 row = float4(cache.key(min(i + u, end - 1), 4 * (place.lane + 32 * j)));
        UNROLLED
        for (uint g = 0; g < Queries; ++g) {
          products[g][u] = fma(query[g][j], row, products[g][u]);
        }
      }
    }
    UNROLLED
    for (uint g = 0; g < Queries; ++g) {
      UNROLLED
      for (uint u = 0; u < 4 * Count; ++u) {
        weights[g][u / 4][u % 4] = total(products[g][u]);
      }
      settle(cache, g, i, end, weights[g]);
    }
  }

  // The weights of keys, four by four; what came before is scaled to their level.
  template <typename Cache, uint Count>
  void weigh(Cache cache, uint g, thread const typename Cache::Four (&rows)[Count][kQuads], uint i,
             uint end, thread float4 (&weights)[Count / 4]) {
    UNROLLED
    for (uint first = 0; first < Count; first += 4) {
      UNROLLED
      for (uint u = 0; u < 4; ++u) {
        float4 product = 0.0f;
        UNROLLED
        for (uint j = 0; j < kQuads; ++j) {
          product = fma(query[g][j], float4(rows[first + u][j]), product);
        }
        weights[first / 4][u] = total(product);
      }
    }
    settle(cache, g, i, end, weights);
  }

  // Each lane's products of keys become weights.
  template <typename Cache, uint Count>
  void settle(Cache cache, uint g, uint i, uint end, thread float4 (&weights)[Count]) {
    float higher = peak[g];
    UNROLLED
    for (uint four = 0; four < Count; ++four) {
      // Summed together: four shuffles at a time are on their way, and one test of who takes part.
      float4 scores = change_scores(cache, simd_sum(weights[four]));
      UNROLLED
      for (uint u = 0; u < 4; ++u) {
        const uint key = i + 4 * four + u;
        scores[u] = key < end && cache.seen(key) ? scores[u] : -INFINITY;
      }
      weights[four] = scores;
      higher = max(higher, largest(scores));
    }
    // Where no key was seen yet, -inf - -inf would be NaN.
    const float level = higher > -INFINITY ? higher : 0.0f;
    const float shrink = fast::exp2(peak[g] - level);
    float added = 0.0f;
    UNROLLED
    for (uint four = 0; four < Count; ++four) {
      weights[four] = fast::exp2(weights[four] - level);
      added += total(weights[four]);
    }
    UNROLLED
    for (uint j = 0; j < kQuads; ++j) {
      out[g][j] *= shrink;
    }
    sum[g] = fma(sum[g], shrink, added);
    peak[g] = higher;
  }

  // The partials of span `span`: what the SIMD-groups have, relative to the largest score of all.
  void store(Partials to, uint span, uint first, uint queries, threadgroup Memory& memory,
             Place place) const {
    UNROLLED
    for (uint g = 0; g < Queries; ++g) {
      if (first + g >= queries) {
        continue;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (place.lane == 0) {
        memory.levels[g][place.simdgroup] = float2(peak[g], sum[g]);
      }
      UNROLLED
      for (uint j = 0; j < kQuads; ++j) {
        memory.out[place.simdgroup][place.lane + 32 * j] = out[g][j];
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      join(to, ulong(first + g) * to.spans + span, memory.levels[g], memory, place);
    }
  }

  static void join(Partials to, ulong at, threadgroup const float2* levels,
                   threadgroup const Memory& memory, Place place) {
    float level = levels[0].x;
    for (uint i = 1; i < SimdGroups; ++i) {
      level = max(level, levels[i].x);
    }
    float whole = 0.0f;
    float factors[SimdGroups];
    for (uint i = 0; i < SimdGroups; ++i) {
      factors[i] = levels[i].x > -INFINITY ? fast::exp2(levels[i].x - level) : 0.0f;
      whole = fma(factors[i], levels[i].y, whole);
    }
    for (uint c = place.thread_index; 4 * c < to.dims; c += 32 * SimdGroups) {
      float4 joined = 0.0f;
      for (uint i = 0; i < SimdGroups; ++i) {
        joined = fma(factors[i], memory.out[i][c], joined);
      }
      store_quad(to.out + at * to.dims, 4 * c, to.dims, joined);
    }
    if (place.thread_index == 0) {
      to.levels[at] = float2(level, whole);
    }
  }
};

}  // namespace metalbench
