// Functions of SIMD-groups and quads as markers: functions without a marker consist of shuffles and
// ballots, whose sources are known for most lanes.
#pragma once

#include "../simdgroup_operations.h"

namespace mb {

// Type of a value in a marker call: integers as unsigned ones of their size.
template <class E, u32 integer_bytes = is_float<E> || __is_same(E, bool) ? 0 : sizeof(E)>
struct passed_as {
  using type = E;
};
template <class E>
struct passed_as<E, 1> {
  using type = u8;
};
template <class E>
struct passed_as<E, 2> {
  using type = u16;
};
template <class E>
struct passed_as<E, 4> {
  using type = u32;
};
template <class E>
struct passed_as<E, 8> {
  using type = u64;
};
template <class E>
using passed = typename passed_as<E>::type;

// Flip the sign bit: maps the order of signed numbers to that of unsigned ones.
template <class E>
MB_FUNC passed<E> ordered(passed<E> x) {
  if constexpr (is_signed<E> && !is_float<E>) return passed<E>(x ^ passed<E>(lowest<E>()));
  else return x;
}

// Mask of the lanes up to this one (inclusive), or up to the one before.
template <bool inclusive>
MB_FUNC u32 lanes_so_far() {
  const u32 before = (1u << lane()) - 1;
  return inclusive ? before * 2 + 1 : before;
}

template <class Op>
struct MarkerOf;
#define MB_MARKER_OF(Op, of_numbers, of_bools)        \
  template <>                                         \
  struct MarkerOf<Op> {                               \
    template <class E>                                \
    MB_FUNC static E reduce(E e) {                    \
      using P = passed<E>;                            \
      if constexpr (__is_same(E, bool)) {             \
        return marker::of_bools(e);                   \
      } else {                                        \
        return of_numbers;                            \
      }                                               \
    }                                                 \
  };
MB_MARKER_OF(Sum, E(marker::sum(P(e))), any_bits)
MB_MARKER_OF(Product, E(marker::product(P(e))), all_bits)
MB_MARKER_OF(Least, E(ordered<E>(marker::min(ordered<E>(P(e))))), all_bits)
MB_MARKER_OF(Greatest, E(ordered<E>(marker::max(ordered<E>(P(e))))), any_bits)
MB_MARKER_OF(And, E(marker::all_bits(P(e))), all_bits)
MB_MARKER_OF(Or, E(marker::any_bits(P(e))), any_bits)
MB_MARKER_OF(Xor, E(marker::odd_bits(P(e))), odd_bits)
#undef MB_MARKER_OF

// A sum of bools is true if one of them is, a product if all of them are.
template <class Op, bool inclusive>
MB_FUNC bool scan_bools(bool e) {
  if constexpr (__is_same(Op, Sum)) return (mb_vector_ballot(e) & lanes_so_far<inclusive>()) != 0;
  else return (mb_vector_ballot(!e) & lanes_so_far<inclusive>()) == 0;
}

template <class Op, bool inclusive, class E>
MB_FUNC E scan_lanes(E e) {
  using P = passed<E>;
  if constexpr (__is_same(E, bool)) return scan_bools<Op, inclusive>(e);
  else if constexpr (__is_same(Op, Sum))
    return E(inclusive ? marker::inclusive_sum(P(e)) : marker::exclusive_sum(P(e)));
  else return E(inclusive ? marker::inclusive_product(P(e)) : marker::exclusive_product(P(e)));
}

template <class E>
MB_FUNC E shuffle_element(E e, u32 from) {
  return E(marker::shuffle(passed<E>(e), from));
}

// Return the operand of lane `i` in this lane's part of `size` lanes.
template <u32 size, class Op, class E>
MB_FUNC E brought_by(E e, u32 i, u32 active) {
  const u32 from = (lane() & ~(size - 1)) + i;
  const E value = shuffle_element(e, from);
  return active >> from & 1 ? value : Op::template identity<E>();
}

// The same order as the functions for fibers.
template <u32 size, class Op, class E>
MB_FUNC E reduce_part(E e) {
  const u32 active = mb_vector_ballot(true);
  E part[size];
#pragma clang loop unroll(full)
  for (u32 i = 0; i < size; ++i) part[i] = brought_by<size, Op>(e, i, active);
#pragma clang loop unroll(full)
  for (u32 width = size / 2; width; width /= 2) {
#pragma clang loop unroll(full)
    for (u32 i = 0; i < width; ++i) part[i] = Op::of(part[i], part[i + width]);
  }
  return part[0];
}

template <u32 size, class Op, bool inclusive, class E>
MB_FUNC E scan_part(E e) {
  const u32 active = mb_vector_ballot(true), own = lane() & (size - 1);
  E running = Op::template identity<E>();
#pragma clang loop unroll(full)
  for (u32 i = 0; i < size; ++i) {
    const E next = Op::of(running, brought_by<size, Op>(e, i, active));
    running = (inclusive ? i <= own : i < own) ? next : running;
  }
  return running;
}

template <u32 size, class Op, class T>
MB_FUNC T reduce(T x) {
  return map(
      MB_LAMBDA {
        if constexpr (size == simd_width) return MarkerOf<Op>::reduce(x);
        else return reduce_part<size, Op>(x);
      },
      x);
}

template <u32 size, class Op, bool inclusive, class T>
MB_FUNC T scan(T x) {
  return map(
      MB_LAMBDA {
        if constexpr (size == simd_width) return scan_lanes<Op, inclusive>(x);
        else return scan_part<size, Op, inclusive>(x);
      },
      x);
}

template <class T>
MB_FUNC T from_lane(T x, u32 from) {
  return map([=](auto e) __attribute__((always_inline)) { return shuffle_element(e, from); }, x);
}

template <u32 size, Move move, class T>
MB_FUNC T shuffle(T x, u32 by) {
  return from_lane(x, source_in_part<size, move>(lane(), by));
}

// shuffle_and_fill: lanes that would read outside of their part of the SIMD-group read from `fill`.
template <bool up, class T>
MB_FUNC T shuffle_and_fill(T x, T fill, u32 by, u32 modulo) {
  const u32 n = modulo, base = lane() & ~(n - 1), at = lane() & (n - 1);
  const u32 moved = up ? at - by : at + by;
  const u32 from = base + (moved & (n - 1));
  const T value = from_lane(x, from), filled = from_lane(fill, from);
  return moved < n ? value : filled;
}

// Masks of the active lanes with a true operand, and of all active lanes.
struct Ballot {
  u32 votes, active;
};

template <u32 size>
MB_FUNC Ballot ballot(bool vote) {
  constexpr u32 all = (1ull << size) - 1;
  const u32 base = lane() & ~(size - 1);
  return Ballot{mb_vector_ballot(vote) >> base & all, mb_vector_ballot(true) >> base & all};
}

template <u32 size, class T>
MB_FUNC T broadcast_first(T x) {
  if constexpr (size == simd_width) {
    return map(MB_LAMBDA { return decltype(x)(marker::first(passed<decltype(x)>(x))); }, x);
  } else {
    return from_lane(x, (lane() & ~(size - 1)) + __builtin_ctz(ballot<size>(true).active));
  }
}

}  // namespace mb
