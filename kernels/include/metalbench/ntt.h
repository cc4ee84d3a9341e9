// Number-theoretic transforms: Fourier transforms over a prime field, exact. One of high x low
// numbers is two passes (Bailey, 1990): columns, a product with roots of unity, rows. A threadgroup
// has strips of columns or rows in its memory. Steps are of radix 8 at most: a thread takes eight
// numbers to its registers and joins three levels of butterflies, so that there is a barrier in
// three levels.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// 2^64 - 2^32 + 1, whose residues are words of 64 bits. `kGenerator` has the order 2^32, and all
// roots of unity are powers of it.
struct Goldilocks {
  using Word = ulong;
  static constant constexpr ulong kPrime = 0xffffffff00000001;
  static constant constexpr ulong kGenerator = 1753635133440165772;
  static constant constexpr ulong kOne = 1;
  static constant constexpr uint kLevels = 32;

  static ulong add(ulong a, ulong b) {
    // A sum beyond 2^64 is 2^32 - 1 more modulo the prime.
    const ulong sum = a + b;
    const ulong carried = sum < a ? sum + 0xffffffff : sum;
    return carried >= kPrime ? carried - kPrime : carried;
  }
  static ulong subtract(ulong a, ulong b) { return a < b ? a - b + kPrime : a - b; }

  // The product by halves, a sum of four products of 32 bits, and then 2^64 = 2^32 - 1 and
  // 2^96 = -1 modulo the prime.
  static ulong multiply(ulong a, ulong b) {
    const uint2 x = as_type<uint2>(a), y = as_type<uint2>(b);
    const ulong lowest = ulong(x.x) * y.x;
    const ulong middle = ulong(x.y) * y.x + (lowest >> 32);
    const ulong other = ulong(x.x) * y.y + uint(middle);
    const ulong high = ulong(x.y) * y.y + (middle >> 32) + (other >> 32);
    const ulong low = other << 32 | uint(lowest);
    const ulong top = high >> 32, next = uint(high);
    ulong sum = low - top;
    sum -= low < top ? 0xffffffff : 0;
    const ulong more = (next << 32) - next;
    sum += more;
    sum += sum < more ? 0xffffffff : 0;
    // check: allow registers eight numbers of 64 bits are in registers for three levels
    return sum >= kPrime ? sum - kPrime : sum;
  }
};

// 15 2^27 + 1, with a generator of order 2^27. Factors, such as roots of unity, are in Montgomery's
// form, a 2^32, so that a product with a plain number is plain again.
struct BabyBear {
  using Word = uint;
  static constant constexpr uint kPrime = 2013265921;
  static constant constexpr uint kGenerator = 1476048622;
  static constant constexpr uint kOne = 268435454;
  static constant constexpr uint kLevels = 27;

  static uint add(uint a, uint b) {
    const uint sum = a + b;
    return sum >= kPrime ? sum - kPrime : sum;
  }
  static uint subtract(uint a, uint b) { return a < b ? a - b + kPrime : a - b; }
  static uint multiply(uint a, uint b) {
    const ulong product = ulong(a) * b;
    const uint times = uint(product) * 2013265919;
    const uint found = uint((product + ulong(times) * kPrime) >> 32);
    return found >= kPrime ? found - kPrime : found;
  }
};

template <typename Field>
inline typename Field::Word power(typename Field::Word base, uint exponent) {
  typename Field::Word result = Field::kOne;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result = Field::multiply(result, base);
    }
    base = Field::multiply(base, base);
  }
  return result;
}

// Power `exponent` of a root of unity of the order two to the power `levels`, as a factor. The
// inverse transform has the inverse root.
template <typename Field, bool Inverse>
inline typename Field::Word root_of_unity(uint levels, uint exponent) {
  typename Field::Word base = Field::kGenerator;
  for (uint i = levels; i < Field::kLevels; ++i) {
    base = Field::multiply(base, base);
  }
  const uint order = 1u << levels;
  return power<Field>(base, Inverse ? (order - exponent) & (order - 1) : exponent);
}

// The inverse of two to the power `levels`, as a factor.
template <typename Field>
inline typename Field::Word inverse_of_length(uint levels) {
  typename Field::Word result = Field::kOne;
  for (uint i = 0; i < levels; ++i) {
    // Half of an odd number is that of its sum with the prime.
    result = result / 2 + ((result & 1) != 0 ? Field::kPrime / 2 + 1 : 0);
  }
  return result;
}

// Transforms of 2^levels numbers side by side in threadgroup memory: number i of transform j is at
// (i << lane_bits) + j. `roots` are the powers of a root of that order. Number k of the result is
// at the place with the bits of k in reverse.
template <typename Field, uint Threads>
struct NttTile {
  using Word = typename Field::Word;
  threadgroup Word* numbers;
  uint levels;
  uint lane_bits;
  device const Word* roots;

  void transform(uint thread_index) const {
    uint left = levels;
    for (; left >= 3; left -= 3) {
      join<3>(left, thread_index);
    }
    if (left == 2) {
      join<2>(left, thread_index);
    } else if (left == 1) {
      join<1>(left, thread_index);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  Word result(uint k, uint lane) const {
    return numbers[(reverse_bits(k) >> (32 - levels) << lane_bits) + lane];
  }

 private:
  // Levels of butterflies, of which the first is of numbers 2^(left - 1) apart.
  template <uint Levels>
  void join(uint left, uint thread_index) const {
    constexpr uint held = 1 << Levels;
    const uint distance = 1u << (left - Levels);
    const uint count = 1u << (levels + lane_bits - Levels);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < count; i += Threads) {
      const uint lane = i & ((1u << lane_bits) - 1), place = i >> lane_bits;
      const uint inner = place & (distance - 1);
      const uint first = (place - inner) * held + inner;
      Word v[held];
      UNROLLED
      for (uint j = 0; j < held; ++j) {
        v[j] = numbers[((first + j * distance) << lane_bits) + lane];
      }
      UNROLLED
      for (uint level = 0; level < Levels; ++level) {
        const uint apart = held >> (level + 1);
        UNROLLED
        for (uint j = 0; j < held; ++j) {
          if ((j & apart) == 0) {
            const Word a = v[j], b = v[j + apart];
            const uint turn = (inner + (j & (apart - 1)) * distance) << (levels - left + level);
            v[j] = Field::add(a, b);
            v[j + apart] = Field::multiply(Field::subtract(a, b), roots[turn]);
          }
        }
      }
      UNROLLED
      for (uint j = 0; j < held; ++j) {
        numbers[((first + j * distance) << lane_bits) + lane] = v[j];
      }
    }
  }
};

}  // namespace metalbench
