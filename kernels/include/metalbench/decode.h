// Attention of one query a head over a cache of keys and values, as when decoding: bound by the
// memory that the cache is read from. A threadgroup has a head; its SIMD-groups take turns at the
// keys, each with an online softmax of its own, which are joined at the end. A row of the cache is
// read by all lanes at once, four elements each: up to 256 dims.
//
// Which keys there are is a template parameter:
//   count()     how many
//   place(i)    the row of the cache that the i-th of them is
#pragma once
#include <metal_stdlib>

#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

using namespace metal;

// The first `keys` rows.
struct AllKeys {
  uint keys;
  uint count() const { return keys; }
  uint place(uint i) const { return i; }
};

// The first `sinks` rows and those from `start` on.
struct WindowKeys {
  uint keys;
  uint sinks;
  uint start;
  uint count() const { return min(sinks, start) + (keys - start); }
  uint place(uint i) const { return i < min(sinks, start) ? i : i - min(sinks, start) + start; }
};

template <uint SimdGroups, uint MaxDims>
struct Decode {
  static constant constexpr uint kQuads = (MaxDims + 127) / 128;  // of a lane
  // What so many turns come to is summed apart: of ten thousands of keys few digits would be left.
  static constant constexpr uint kTurns = 64;

  struct Memory {
    float peaks[SimdGroups];
    float sums[SimdGroups];
    float4 out[SimdGroups][32 * kQuads];
  };

  // Attention of a query over rows of `dims` elements; `peak` and `sum` are what each softmax
  // begins with: -inf and 0, or a logit of something that has no value, and 1.
  template <typename Keys, typename T>
  static void run(device const T* q, device const T* k, device const T* v, device T* y, Keys keys,
                  uint dims, float logit, threadgroup Memory& memory, Place place) {
    const float scale = precise::rsqrt(float(dims));
    float4 query[kQuads];
    float4 out[kQuads];
    for (uint j = 0; j < kQuads; ++j) {
      query[j] = load_quad(q, 4 * (place.lane + 32 * j), dims) * scale;
      out[j] = 0.0f;
    }
    float peak = place.simdgroup == 0 ? logit : -INFINITY;
    float sum = peak > -INFINITY ? 1.0f : 0.0f;
    for (uint begin = 0; begin < keys.count(); begin += kTurns * SimdGroups) {
      const uint end = min(keys.count(), begin + kTurns * SimdGroups);
      float higher = peak;
      float added = 0.0f;
      float4 more[kQuads] = {};
      for (uint i = begin + place.simdgroup; i < end; i += SimdGroups) {
        const ulong row = ulong(keys.place(i)) * dims;
        float4 product = 0.0f;
        for (uint j = 0; j < kQuads; ++j) {
          product = fma(query[j], load_quad(k + row, 4 * (place.lane + 32 * j), dims), product);
        }
        const float score = simd_sum(total(product));
        const float before = higher;
        higher = max(higher, score);
        const float shrink = precise::exp(before - higher);
        const float weight = precise::exp(score - higher);
        for (uint j = 0; j < kQuads; ++j) {
          const float4 value = load_quad(v + row, 4 * (place.lane + 32 * j), dims);
          more[j] = fma(weight, value, more[j] * shrink);
        }
        added = fma(added, shrink, weight);
      }
      // Where there was no key yet, -inf - -inf would be NaN.
      const float shrink = peak > -INFINITY ? precise::exp(peak - higher) : 0.0f;
      for (uint j = 0; j < kQuads; ++j) {
        out[j] = fma(out[j], shrink, more[j]);
      }
      sum = fma(sum, shrink, added);
      peak = higher;
    }
    for (uint j = 0; j < kQuads; ++j) {
      memory.out[place.simdgroup][place.lane + 32 * j] = out[j];
    }
    if (place.lane == 0) {
      memory.peaks[place.simdgroup] = peak;
      memory.sums[place.simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    join(y, dims, memory, place);
  }

  // What the SIMD-groups have, relative to the largest score of all.
  template <typename T>
  static void join(device T* y, uint dims, threadgroup Memory& memory, Place place) {
    float peak = memory.peaks[0];
    for (uint i = 1; i < SimdGroups; ++i) {
      peak = max(peak, memory.peaks[i]);
    }
    for (uint at = place.thread_index; 4 * at < dims; at += 32 * SimdGroups) {
      float4 out = 0.0f;
      float sum = 0.0f;
      for (uint i = 0; i < SimdGroups; ++i) {
        const float factor = precise::exp(memory.peaks[i] - peak);
        out = fma(factor, memory.out[i][at], out);
        sum = fma(factor, memory.sums[i], sum);
      }
      store_quad(y, 4 * at, dims, out / sum);
    }
  }
};

}  // namespace metalbench
