// Bitonic sorting of one row in threadgroup memory: compare and exchange at distances that are
// powers of two, the same for all data. Where lanes hold neighbours in registers, only what is
// further apart than a SIMD-group's goes through memory, behind a barrier each time. Floats are
// sorted by integers of the same order, with NaN last. These come from the bits, without arithmetic:
// Apple's GPUs replace subnormal operands and results of float arithmetic by zeros.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// The bits of a number as a float: those of a bfloat are the upper half. A half has none that is
// subnormal as a float.
inline uint float_bits(float v) { return as_type<uint>(v); }
inline uint float_bits(half v) { return as_type<uint>(float(v)); }
inline uint float_bits(bfloat v) { return uint(as_type<ushort>(v)) << 16; }

// The number as an element of a type.
template <typename T>
inline T element_of_bits(uint bits) {
  return T(as_type<float>(bits));
}
template <>
inline bfloat element_of_bits<bfloat>(uint bits) {
  return as_type<bfloat>(ushort(bits >> 16));
}

inline bool is_nan_bits(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Both zeros have the same key.
template <typename T>
inline uint sort_key(T v) {
  const uint bits = float_bits(v);
  const uint key = bits & 0x80000000u ? 0 - bits : bits | 0x80000000u;
  return is_nan_bits(bits) ? 0xffffffffu : key;
}

inline uint bits_of_sort_key(uint key) { return key & 0x80000000u ? key & 0x7fffffffu : 0 - key; }

inline float of_sort_key(uint key) { return as_type<float>(bits_of_sort_key(key)); }

// -0 is below 0, so that the number is found again with its sign.
template <typename T>
inline uint signed_sort_key(T v) {
  const uint bits = float_bits(v);
  const uint key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return is_nan_bits(bits) ? 0xffffffffu : key;
}

template <typename T>
inline T of_signed_sort_key(uint key) {
  return element_of_bits<T>(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

inline uint power_of_two_from(uint n) { return n <= 1 ? 1 : 1u << (32 - clz(n - 1)); }

inline uint from_lane(uint key, uint apart) { return simd_shuffle_xor(key, ushort(apart)); }
inline ulong from_lane(ulong key, uint apart) {
  return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(key), ushort(apart)));
}

// What a lane holds, Held neighbours from `first` on, in runs of keys that ascend and descend in
// turns: exchanges at distances from Held Lanes down to Held, with other lanes. Where a lane holds
// many bytes this is a loop: code for each distance would not fit into the instruction cache.
template <uint Held, uint Lanes>
struct AmongLanes {
  template <typename Key>
  static void exchange(thread Key (&keys)[Held], uint lane, bool ascending) {
    if (Held * sizeof(Key) > 32) {
      ROLLED
      for (uint apart = Lanes; apart > 0; apart /= 2) {
        exchange_once(keys, lane, apart, ascending);
      }
      return;
    }
    exchange_once(keys, lane, Lanes, ascending);
    AmongLanes<Held, Lanes / 2>::exchange(keys, lane, ascending);
  }

  template <typename Key>
  static void exchange_once(thread Key (&keys)[Held], uint lane, uint apart, bool ascending) {
    const bool has_lower = ((lane & apart) == 0) == ascending;
    UNROLLED
    for (uint i = 0; i < Held; ++i) {
      const Key other = from_lane(keys[i], apart);
      keys[i] = has_lower ? min(keys[i], other) : max(keys[i], other);
    }
  }
};
template <uint Held>
struct AmongLanes<Held, 0> {
  template <typename Key>
  static void exchange(thread Key (&)[Held], uint, bool) {}
};

// The same at distances from Distance down to 1, within a lane. Where runs are shorter than what it
// holds, of Run keys, it has several.
template <uint Held, uint Distance, uint Run>
struct WithinLane {
  template <typename Key>
  static void exchange(thread Key (&keys)[Held], bool ascending) {
    UNROLLED
    for (uint i = 0; i < Held; ++i) {
      if ((i & Distance) == 0) {
        const bool up = Run < Held ? (i & Run) == 0 : ascending;
        const Key lower = min(keys[i], keys[i + Distance]);
        const Key upper = max(keys[i], keys[i + Distance]);
        keys[i] = up ? lower : upper;
        keys[i + Distance] = up ? upper : lower;
      }
    }
    WithinLane<Held, Distance / 2, Run>::exchange(keys, ascending);
  }
};
template <uint Held, uint Run>
struct WithinLane<Held, 0, Run> {
  template <typename Key>
  static void exchange(thread Key (&)[Held], bool) {}
};

// Runs of 2 keys, then of twice as many, up to Run.
template <uint Held, uint Run>
struct Runs {
  template <typename Key>
  static void sort(thread Key (&keys)[Held], uint first, uint lane) {
    Runs<Held, Run / 2>::sort(keys, first, lane);
    const bool ascending = (first & Run) == 0;
    AmongLanes<Held, Run / (2 * Held)>::exchange(keys, lane, ascending);
    WithinLane<Held, (Run < Held ? Run : Held) / 2, Run>::exchange(keys, ascending);
  }
};
template <uint Held>
struct Runs<Held, 1> {
  template <typename Key>
  static void sort(thread Key (&)[Held], uint, uint) {}
};

// What a SIMD-group holds, from `first` on.
template <uint Held>
struct HeldBlock {
  static constant constexpr uint kLength = 32 * Held;

  // From whatever order (`size` 0), or as the last steps of runs of `size`.
  template <typename Key>
  static void sort(threadgroup Key* keys, uint first, uint lane, uint size) {
    const uint own = first + Held * lane;
    Key held[Held];
    UNROLLED
    for (uint i = 0; i < Held; ++i) {
      held[i] = keys[own + i];
    }
    if (size == 0) {
      Runs<Held, kLength>::sort(held, own, lane);
    } else {
      const bool ascending = (first & size) == 0;
      AmongLanes<Held, 16>::exchange(held, lane, ascending);
      WithinLane<Held, Held / 2, kLength>::exchange(held, ascending);
    }
    UNROLLED
    for (uint i = 0; i < Held; ++i) {
      keys[own + i] = held[i];
    }
  }
};
template <>
struct HeldBlock<0> {
  static constant constexpr uint kLength = 1;
  template <typename Key>
  static void sort(threadgroup Key*, uint, uint, uint) {}
};

// To how many keys a row of `count` is padded.
template <uint Held>
inline uint sorted_length(uint count) {
  return max(uint(HeldBlock<Held>::kLength), power_of_two_from(count));
}

// The `n` keys, ascending; a sorted_length. Threads are behind a barrier at the end.
template <uint Held, typename Key>
inline void bitonic_sort(threadgroup Key* keys, uint n, uint thread_index, uint threads) {
  constexpr uint length = HeldBlock<Held>::kLength;
  const uint lane = thread_index % 32, begin = thread_index / 32 * length;
  if (Held > 0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint first = begin; first < n; first += threads / 32 * length) {
      HeldBlock<Held>::sort(keys, first, lane, 0);
    }
  }
  for (uint size = 2 * length; size <= n; size *= 2) {
    for (uint distance = size / 2; distance >= length; distance /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = thread_index; i < n / 2; i += threads) {
        const uint low = 2 * i - (i & (distance - 1));
        const Key a = keys[low];
        const Key b = keys[low + distance];
        const bool swap = (a > b) == ((low & size) == 0);
        keys[low] = swap ? b : a;
        keys[low + distance] = swap ? a : b;
      }
    }
    if (Held > 0) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint first = begin; first < n; first += threads / 32 * length) {
        HeldBlock<Held>::sort(keys, first, lane, size);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

}  // namespace metalbench
