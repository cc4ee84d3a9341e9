// Radix sorting of rows of any length in several dispatches, eight bits at a time from the lowest
// on. Each pass counts the digits of blocks, adds the counts of the blocks before, and moves keys
// to their places. Passes are stable, so that equal keys keep their order. No threadgroup waits for
// another one: Apple's GPUs do not promise that it makes progress. Order within a block comes from
// votes of SIMD-groups, without atomics, and equal in every run.
#pragma once
#include "metalbench/compaction.h"
#include "metalbench/sort.h"

namespace metalbench {

// A threadgroup has a thread for each digit.
constant constexpr uint kRadixDigits = 256;
constant constexpr uint kRadixSimdGroups = kRadixDigits / 32;

// Integers of the order of elements, of 32 or 16 bits. NaN is last, and -0 is below 0, so that the
// element is found again.
inline uint radix_key(float v) { return signed_sort_key(v); }
inline uint radix_key(int v) { return uint(v) ^ 0x80000000u; }
inline uint radix_key(uint v) { return v; }
inline uint radix_key(bfloat v) { return signed_sort_key(v) >> 16; }
inline uint radix_key(half v) {
  const uint bits = as_type<ushort>(v);
  const uint key = bits & 0x8000u ? ~bits & 0xffffu : bits | 0x8000u;
  return (bits & 0x7fffu) > 0x7c00u ? 0xffffu : key;
}

template <typename T>
struct OfRadixKey;
template <>
struct OfRadixKey<float> {
  static float element(uint key) { return of_signed_sort_key<float>(key); }
};
template <>
struct OfRadixKey<int> {
  static int element(uint key) { return int(key ^ 0x80000000u); }
};
template <>
struct OfRadixKey<uint> {
  static uint element(uint key) { return key; }
};
template <>
struct OfRadixKey<bfloat> {
  static bfloat element(uint key) { return of_signed_sort_key<bfloat>(key << 16); }
};
template <>
struct OfRadixKey<half> {
  static half element(uint key) {
    return as_type<half>(ushort(key & 0x8000u ? key & 0x7fffu : ~key));
  }
};

// The same with both zeros equal, for sorts that move elements' indices: those keep their order.
template <typename T>
inline uint radix_order(T v) {
  return radix_key(v);
}
template <>
inline uint radix_order(float v) {
  return sort_key(v);
}
template <>
inline uint radix_order(bfloat v) {
  return sort_key(v) >> 16;
}
template <>
inline uint radix_order(half v) {
  return as_type<ushort>(v) == 0x8000u ? 0x8000u : radix_key(v);
}

// Where a pass has keys from, and where they go to: elements in the first pass and in the last one,
// keys between. `HasIndex` is whether keys carry along where their elements come from.
template <typename T, bool HasIndex>
struct Elements {
  static constant constexpr bool kHasIndex = HasIndex;
  device const T* x;
  uint key(uint i) const { return HasIndex ? radix_order(x[i]) : radix_key(x[i]); }
  uint index(uint i) const { return i; }
};
template <bool HasIndex>
struct RadixKeys {
  static constant constexpr bool kHasIndex = HasIndex;
  device uint* keys;
  device uint* indices;

  // Of arrays (2, rows, cols) the row that is read by pass number `pass`, from 1 on: pass 0 reads
  // the elements.
  static RadixKeys of_pass(device uint* keys, device uint* indices, uint pass, uint rows, uint cols,
                           uint row) {
    const ulong first = (ulong(rows) * ((pass - 1) % 2) + row) * cols;
    return {keys + first, indices + (HasIndex ? first : 0)};
  }
  uint key(uint i) const { return keys[i]; }
  uint index(uint i) const { return indices[i]; }
  void put_key(uint i, uint key) const { keys[i] = key; }
  void put_index(uint i, uint index) const { indices[i] = index; }
};
template <typename T>
struct SortedElements {
  device T* y;
  void put_key(uint i, uint key) const { y[i] = OfRadixKey<T>::element(key); }
  void put_index(uint, uint) const {}
};
struct SortedIndices {
  device uint* y;
  void put_key(uint, uint) const {}
  void put_index(uint i, uint index) const { y[i] = index; }
};

// One pass over a row of `count` keys, in blocks of Keys a thread: the digit is the eight bits from
// `shift` on. `counts` are those of the row, for each block those of its digits; then `totals`.
template <uint Keys>
struct RadixPass {
  static constant constexpr uint kBlock = Keys * kRadixDigits;

  struct Memory {
    ushort before[kRadixSimdGroups][kRadixDigits];
    uint shift_of_digit[kRadixDigits];
    uint sums[2][kRadixSimdGroups];
    uint staged[kBlock];
  };

  uint count;
  uint shift;

  uint blocks() const { return (count - 1) / kBlock + 1; }
  device uint* counts_of_row(device uint* counts, uint row) const {
    return counts + ulong(row) * kRadixDigits * blocks();
  }
  uint digit_of(uint key) const { return key >> shift & (kRadixDigits - 1); }

  template <typename Source>
  void count_digits(Source source, device uint* counts, uint block, threadgroup atomic_uint* bins,
                    uint thread_index) const {
    atomic_store_explicit(&bins[thread_index], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < Keys; ++i) {
      const uint at = block * kBlock + i * kRadixDigits + thread_index;
      if (at < count) {
        atomic_fetch_add_explicit(&bins[digit_of(source.key(at))], 1u, memory_order_relaxed);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    counts[block * kRadixDigits + thread_index] =
        atomic_load_explicit(&bins[thread_index], memory_order_relaxed);
  }

  template <typename Source, typename Sink>
  void move_keys(Source source, Sink sink, device const uint* counts, device const uint* totals,
                 uint block, threadgroup Memory& memory, Place place) const {
    const uint start = block * kBlock, thread_index = place.thread_index;
    for (uint i = 0; i < kRadixSimdGroups; ++i) {
      memory.before[i][thread_index] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint keys[Keys], places[Keys];
    const uint first = start + place.simdgroup * 32 * Keys + place.lane;
    UNROLLED
    for (uint i = 0; i < Keys; ++i) {
      // What is past the end has the last digit and comes last of it.
      keys[i] = first + 32 * i < count ? source.key(first + 32 * i) : ~0u;
      places[i] = rank(digit_of(keys[i]), memory.before[place.simdgroup], place.lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    find_starts(counts, totals, block, memory, place);
    UNROLLED
    for (uint i = 0; i < Keys; ++i) {
      places[i] += memory.before[place.simdgroup][digit_of(keys[i])];
      memory.staged[places[i]] = keys[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // Neighbouring threads have neighbours of the sorted block, most of which stay neighbours.
    UNROLLED
    for (uint i = 0; i < Keys; ++i) {
      const uint at = i * kRadixDigits + thread_index;
      keys[i] = memory.staged[at];
      if (start + at < count) {
        sink.put_key(at + memory.shift_of_digit[digit_of(keys[i])], keys[i]);
      }
    }
    if (Source::kHasIndex) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      UNROLLED
      for (uint i = 0; i < Keys; ++i) {
        const uint at = first + 32 * i;
        memory.staged[places[i]] = at < count ? source.index(at) : 0;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      UNROLLED
      for (uint i = 0; i < Keys; ++i) {
        const uint at = i * kRadixDigits + thread_index;
        if (start + at < count) {
          sink.put_index(at + memory.shift_of_digit[digit_of(keys[i])], memory.staged[at]);
        }
      }
    }
  }

 private:
  // How many keys of a SIMD-group have come before with the same digit. Eight votes find the lanes
  // with the same digit, the first of them counts all.
  static uint rank(uint digit, threadgroup ushort* before, uint lane) {
    uint same = ~0u;
    UNROLLED
    for (uint bit = 0; bit < 8; ++bit) {
      const bool is_set = (digit >> bit & 1) != 0;
      const uint votes = uint(simd_vote::vote_t(simd_ballot(is_set)));
      same &= is_set ? votes : ~votes;
    }
    const uint earlier = popcount(same & ((1u << lane) - 1));
    const uint all = before[digit];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (earlier == 0) {
      before[digit] = ushort(all + popcount(same));
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    return all + earlier;
  }

  // Turns counts of SIMD-groups into places in the sorted block, and finds by how much the places
  // of a digit's keys move from there to those in the row.
  void find_starts(device const uint* counts, device const uint* totals, uint block,
                   threadgroup Memory& memory, Place place) const {
    const uint digit = place.thread_index;
    uint here = 0;
    for (uint i = 0; i < kRadixSimdGroups; ++i) {
      here += memory.before[i][digit];
    }
    const uint of_block = sum_of_threads_before<kRadixSimdGroups>(here, memory.sums[0], place);
    const uint of_row = sum_of_threads_before<kRadixSimdGroups>(totals[digit], memory.sums[1], place);
    memory.shift_of_digit[digit] = of_row + counts[block * kRadixDigits + digit] - of_block;
    uint sum = of_block;
    for (uint i = 0; i < kRadixSimdGroups; ++i) {
      const uint own = memory.before[i][digit];
      memory.before[i][digit] = ushort(sum);
      sum += own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
};

// Replaces the counts of a row's blocks by the sums of those of the blocks before, and stores the
// totals. A threadgroup has 32 digits, a lane each, and its SIMD-groups have shares of the blocks.
template <uint SimdGroups>
inline void add_radix_counts(device uint* counts, device uint* totals, uint blocks,
                             uint first_digit, threadgroup uint (&sums)[SimdGroups][32],
                             Place place) {
  const uint digit = first_digit + place.lane, share = (blocks + SimdGroups - 1) / SimdGroups;
  const uint begin = min(blocks, place.simdgroup * share), end = min(blocks, begin + share);
  uint sum = 0;
  for (uint block = begin; block < end; ++block) {
    sum += counts[ulong(block) * kRadixDigits + digit];
  }
  sums[place.simdgroup][place.lane] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint before = 0, total = 0;
  for (uint i = 0; i < SimdGroups; ++i) {
    const uint one = sums[i][place.lane];
    before += i < place.simdgroup ? one : 0;
    total += one;
  }
  for (uint block = begin; block < end; ++block) {
    const ulong at = ulong(block) * kRadixDigits + digit;
    const uint own = counts[at];
    counts[at] = before;
    before += own;
  }
  if (place.simdgroup == 0) {
    totals[digit] = total;
  }
}

}  // namespace metalbench
