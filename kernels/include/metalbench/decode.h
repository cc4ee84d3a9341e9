// Attention of one query a head over a cache of keys and values, as when decoding: bound by the
// memory that the cache is read from. A threadgroup has a head; its SIMD-groups take turns at four
// or eight keys at a time (split_decode.h), each with a separate online softmax, which are
// joined at the end. A row of the cache is read by all lanes at once, four elements each.
//
// Which keys there are is a template parameter:
//   count()     how many
//   place(i)    the row of the cache that the i-th of them is
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/split_decode.h"

namespace metalbench {

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

// The rows of a cache that these are.
template <typename Keys, typename Cache>
struct ChosenRows {
  using Four = typename Cache::Four;
  Keys keys;
  Cache cache;
  Four key(uint i, uint column) const { return cache.key(keys.place(i), column); }
  Four value(uint i, uint column) const { return cache.value(keys.place(i), column); }
  bool seen(uint) const { return true; }
};

template <uint SimdGroups>
struct Decode {
  // The sum over a few keys of a SIMD-group is kept separate: of ten thousands few digits would be
  // left.
  static constant constexpr uint kTurns = 64;

  struct Memory {
    float2 levels[SimdGroups];
    float4 out[SimdGroups][32];
  };

  // Attention of a query over rows of `dims` elements, MaxDims of them at most, with a logit of
  // something that has no value, if it is not -inf. Rows of more than 256 are whole quads.
  template <uint MaxDims = 256, typename Keys, typename T>
  INLINED static void attend(device const T* q, device const T* k, device const T* v, device T* y,
                             Keys keys, uint dims, float logit, threadgroup Memory& memory,
                             Place place) {
    if (dims <= 128 && dims % 4 == 0) {
      attend_rows<128>(q, ChosenRows<Keys, WholeRowCache<T>>{keys, {k, v, dims}}, keys.count(), y,
                       dims, logit, memory, place);
      return;
    }
    if (MaxDims <= 256 || dims <= 256) {
      attend_rows<256>(q, ChosenRows<Keys, RowCache<T>>{keys, {k, v, dims}}, keys.count(), y, dims,
                       logit, memory, place);
    } else {
      attend_rows<MaxDims>(q, ChosenRows<Keys, WholeRowCache<T>>{keys, {k, v, dims}}, keys.count(),
                           y, dims, logit, memory, place);
    }
  }

  // The same over the first `count` rows of a cache.
  template <uint MaxDims, typename Rows, typename T>
  INLINED static void attend_rows(device const T* q, Rows rows, uint count, device T* y, uint dims,
                                  float logit, threadgroup Memory& memory, Place place) {
    using Part = SplitDecode<SimdGroups, 1, MaxDims>;
    Part all(q, 0, 1, dims, place);
    if (place.simdgroup == 0 && logit > -INFINITY) {
      all.peak[0] = kLog2E * logit;
      all.sum[0] = 1.0f;
    }
    for (uint begin = 0; begin < count; begin += kTurns * SimdGroups) {
      Part part(q, 0, 1, dims, place);
      part.walk(rows, begin, min(count, begin + kTurns * SimdGroups), place);
      add(part, all);
    }
    if (place.lane == 0) {
      memory.levels[place.simdgroup] = float2(all.peak[0], all.sum[0]);
    }
    UNROLLED
    for (uint j = 0; j < Part::kQuads; ++j) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      memory.out[place.simdgroup][place.lane] = all.out[0][j];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (place.simdgroup == 0) {
        store_quad(y, 4 * (place.lane + 32 * j), dims, joined(memory, place.lane));
      }
    }
  }

  // What one walk has come to, to what others of the same query have.
  template <typename Part>
  INLINED static void add(thread const Part& part, thread Part& all) {
    const float higher = max(all.peak[0], part.peak[0]);
    // Where no key was seen yet, -inf - -inf would be NaN.
    const float level = higher > -INFINITY ? higher : 0.0f;
    const float own = fast::exp2(all.peak[0] - level);
    const float more = fast::exp2(part.peak[0] - level);
    UNROLLED
    for (uint j = 0; j < Part::kQuads; ++j) {
      all.out[0][j] = fma(all.out[0][j], own, part.out[0][j] * more);
    }
    all.sum[0] = fma(all.sum[0], own, part.sum[0] * more);
    all.peak[0] = higher;
  }

  // What all SIMD-groups have, relative to the largest score of all.
  static float4 joined(threadgroup const Memory& memory, uint lane) {
    float level = memory.levels[0].x;
    for (uint i = 1; i < SimdGroups; ++i) {
      level = max(level, memory.levels[i].x);
    }
    float4 out = 0.0f;
    float sum = 0.0f;
    for (uint i = 0; i < SimdGroups; ++i) {
      const float factor = fast::exp2(memory.levels[i].x - level);
      out = fma(factor, memory.out[i][lane], out);
      sum = fma(factor, memory.levels[i].y, sum);
    }
    return out / sum;
  }
};

}  // namespace metalbench
