// The element of a row that a given number of others are not below, without a sort: found two bits at a time
// of integers of the same order as floats (sort.h), by counting how many are at or above each of
// three. Keys of Keep quads stay in a thread's registers; what a longer row has beyond is read
// again, from the cache.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
#include "metalbench/sort.h"

namespace metalbench {

// How many of a key's bits, from the first on, differ between elements of a type: those of a half
// are a float's exponent and ten bits of mantissa.
template <typename T>
struct KeyBits;
template <>
struct KeyBits<float> {
  static constant constexpr uint kCount = 32;
};
template <>
struct KeyBits<half> {
  static constant constexpr uint kCount = 20;
};
template <>
struct KeyBits<bfloat> {
  static constant constexpr uint kCount = 16;
};

// What a thread has of a row; past the row's end are keys below all.
template <uint Threads, uint Keep, typename T, typename At>
struct RowKeys {
  device const T* at;
  uint cols;
  At place;
  uint4 kept[Keep];

  RowKeys(device const T* row, uint cols, At place) : at(row), cols(cols), place(place) {
    UNROLLED_ON_GPU
    for (uint i = 0; i < Keep; ++i) {
      kept[i] = quad(4 * (place.thread_index + i * threads_of<Threads>(place)));
    }
  }

  uint4 quad(uint column) const {
    const float4 v = load_quad(at, column, cols);
    const uint4 keys = uint4(sort_key(v.x), sort_key(v.y), sort_key(v.z), sort_key(v.w));
    return select(uint4(0), keys, column + uint4(0, 1, 2, 3) < uint4(cols));
  }

  template <typename Op>
  void visit(thread Op& op) const {
    const uint threads = threads_of<Threads>(place);
    UNROLLED_ON_GPU
    for (uint i = 0; i < Keep; ++i) {
      op(kept[i]);
    }
    for (uint column = 4 * (place.thread_index + Keep * threads); column < cols;
         column += 4 * threads) {
      op(quad(column));
    }
  }
};

template <uint Threads, uint Keep, typename T, typename At>
inline RowKeys<Threads, Keep, T, At> keys_of_row(device const T* row, uint cols, At place) {
  return {row, cols, place};
}

struct CountFrom {
  uint4 keys;
  uint4 counts;
  void operator()(uint4 of_row) {
    UNROLLED_ON_GPU
    for (uint i = 0; i < 4; ++i) {
      counts += select(uint4(0), uint4(1), uint4(of_row[i]) >= keys);
    }
  }
};

struct LargestBelow {
  uint key;
  uint found;
  void operator()(uint4 of_row) {
    const uint4 below = select(uint4(0), of_row, of_row < uint4(key));
    found = max(found, max(max(below.x, below.y), max(below.z, below.w)));
  }
};

template <uint Threads>
struct RankMemory {
  float4 counts[2][Threads / 32];
  uint largest[Threads / 32];
};

// The first Bits bits of the largest key that at least `rank` elements are at or above, with zeros
// behind. What has the keys shows them to an `op`, four at a time, in visit(op), on which all
// threads enter.
template <uint Threads, uint Bits, typename Keys, typename At>
inline uint bits_of_rank(thread const Keys& row, uint rank, threadgroup RankMemory<Threads>& memory,
                         At place) {
  constexpr uint rest = 32 - Bits;
  uint key = 0;
  for (uint bit = 32; bit > rest;) {
    bit -= 2;
    CountFrom from = {uint4(key) | uint4(1, 2, 3, 3) << bit, 0};
    row.visit(from);
    threadgroup float4* partial = memory.counts[bit / 2 % 2];
    const float4 all = group_sum<Threads / 32>(float4(from.counts), partial, place);
    const uint3 enough = select(uint3(0), uint3(1), all.xyz >= float3(rank));
    key |= (enough.x + enough.y + enough.z) << bit;
  }
  return key;
}

// The largest key that at least `rank` elements are at or above.
template <uint Threads, uint Keep, typename T, typename At>
inline uint key_of_rank(thread const RowKeys<Threads, Keep, T, At>& row, uint rank,
                        threadgroup RankMemory<Threads>& memory, At place) {
  return bits_of_rank<Threads, KeyBits<T>::kCount>(row, rank, memory, place);
}

// The largest of the values that SIMD-groups have left.
template <uint SimdGroups>
inline uint largest_partial(threadgroup const uint* partial, Place) {
  uint found = partial[0];
  for (uint i = 1; i < SimdGroups; ++i) {
    found = max(found, partial[i]);
  }
  return found;
}
template <uint SimdGroups>
inline uint largest_partial(threadgroup const uint* partial, RowPlace place) {
  return simd_max(partial_of_lane(partial, place, 0u));
}

// The largest key below `key`, 0 where there is none.
template <uint Threads, uint Keep, typename T, typename At>
inline uint key_below(thread const RowKeys<Threads, Keep, T, At>& row, uint key,
                      threadgroup RankMemory<Threads>& memory, At place) {
  LargestBelow below = {key, 0};
  row.visit(below);
  const uint found = simd_max(below.found);
  if (place.lane == 0) {
    memory.largest[place.simdgroup] = found;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return largest_partial<Threads / 32>(memory.largest, place);
}

}  // namespace metalbench
