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
    for (uint i = place.simdgroup; i < keys.count(); i += SimdGroups) {
      const ulong row = ulong(keys.place(i)) * dims;
      float4 product = 0.0f;
      for (uint j = 0; j < kQuads; ++j) {
        product = fma(query[j], load_quad(k + row, 4 * (place.lane + 32 * j), dims), product);
      }
      const float score = simd_sum(total(product));
      const float higher = max(peak, score);
      const float shrink = precise::exp(peak - higher);
      const float weight = precise::exp(score - higher);
      for (uint j = 0; j < kQuads; ++j) {
        const float4 value = load_quad(v + row, 4 * (place.lane + 32 * j), dims);
        out[j] = fma(weight, value, out[j] * shrink);
      }
      sum = fma(sum, shrink, weight);
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
