// Quad-group functions: as those of the SIMD-group, for every four lanes.
#pragma once

#include "simd_functions.h"

namespace mb {

template <class T, class Op>
struct QuadReduction {
  T value;

  MB_UNTRACED static void combine(void* const* operand, u32 mask) {
    Lanes<T> lanes(operand, mask, Op::template identity<T>());
    for (u32 q = 0; q < simd_width; q += 4) {
      T* v = lanes.value + q;
      T all = Op::of(Op::of(v[0], v[2]), Op::of(v[1], v[3]));
      for (u32 i = 0; i < 4; ++i) v[i] = all;
    }
    scatter(operand, mask, lanes.value);
  }

  template <bool inclusive>
  MB_UNTRACED static void scan(void* const* operand, u32 mask) {
    Lanes<T> lanes(operand, mask, Op::template identity<T>());
    T running = Op::template identity<T>();
    for (u32 i = 0; i < simd_width; ++i) {
      if (i % 4 == 0) running = Op::template identity<T>();
      T before = running;
      running = Op::of(running, lanes.value[i]);
      lanes.value[i] = inclusive ? running : before;
    }
    scatter(operand, mask, lanes.value);
  }
};

template <class Op, class T>
MB_FUNC T quad_reduce(T x) {
  QuadReduction<T, Op> operand{x};
  meet(&operand, QuadReduction<T, Op>::combine);
  return operand.value;
}

template <class Op, bool inclusive, class T>
MB_FUNC T quad_scan(T x) {
  QuadReduction<T, Op> operand{x};
  meet(&operand, QuadReduction<T, Op>::template scan<inclusive>);
  return operand.value;
}

// A source outside of the reader's quad is none: lane 32 exists nowhere and reads as zero. But up
// and down leave a lane's own value there.
template <Move move, class T>
MB_FUNC T quad_move(T x, u32 by) {
  u32 base = lane() & ~3u;
  u32 from = source_lane<move>(lane() & 3, by, 4);
  u32 otherwise = move == Move::up || move == Move::down ? lane() : simd_width;
  return simd_move<Move::to>(x, from < 4 ? base + from : otherwise);
}

MB_FUNC Ballot quad_ballot(bool vote) {
  Ballot all = ballot(vote);
  u32 base = lane() & ~3u;
  return Ballot{all.votes >> base & 15, all.active >> base & 15};
}

}  // namespace mb

namespace metal {

class quad_vote {
 public:
  using vote_t = uint;
  MB_FUNC explicit constexpr quad_vote(vote_t votes = 0) : votes_(votes) {}
  MB_FUNC explicit constexpr operator vote_t() const { return votes_; }
  MB_FUNC constexpr bool all() const { return votes_ == 15; }
  MB_FUNC constexpr bool any() const { return votes_ != 0; }

 private:
  vote_t votes_;
};

#define MB_QUAD1(name, ...)                \
  template <class A, class R = mb::arg<A>> \
  MB_FUNC R name(A a) {                    \
    R x = mb::lift<R>(a);                  \
    return __VA_ARGS__;                    \
  }
#define MB_QUAD2(name, move)                        \
  template <class A, class R = mb::arg<A>>          \
  MB_FUNC R name(A a, ushort by) {                  \
    return mb::quad_move<move>(mb::lift<R>(a), by); \
  }

MB_QUAD1(quad_sum, mb::quad_reduce<mb::Sum>(x))
MB_QUAD1(quad_product, mb::quad_reduce<mb::Product>(x))
MB_QUAD1(quad_min, mb::quad_reduce<mb::Least>(x))
MB_QUAD1(quad_max, mb::quad_reduce<mb::Greatest>(x))
MB_QUAD1(quad_and, mb::quad_reduce<mb::And>(x))
MB_QUAD1(quad_or, mb::quad_reduce<mb::Or>(x))
MB_QUAD1(quad_xor, mb::quad_reduce<mb::Xor>(x))
MB_QUAD1(quad_prefix_inclusive_sum, mb::quad_scan<mb::Sum, true>(x))
MB_QUAD1(quad_prefix_exclusive_sum, mb::quad_scan<mb::Sum, false>(x))
MB_QUAD1(quad_prefix_inclusive_product, mb::quad_scan<mb::Product, true>(x))
MB_QUAD1(quad_prefix_exclusive_product, mb::quad_scan<mb::Product, false>(x))
MB_QUAD2(quad_broadcast, mb::Move::to)
MB_QUAD2(quad_shuffle, mb::Move::to)
MB_QUAD2(quad_shuffle_up, mb::Move::up)
MB_QUAD2(quad_shuffle_down, mb::Move::down)
MB_QUAD2(quad_shuffle_xor, mb::Move::exclusive_or)
MB_QUAD2(quad_shuffle_rotate_up, mb::Move::rotate_up)
MB_QUAD2(quad_shuffle_rotate_down, mb::Move::rotate_down)
#undef MB_QUAD1
#undef MB_QUAD2

MB_FUNC quad_vote quad_ballot(bool vote) { return quad_vote(mb::quad_ballot(vote).votes); }
MB_FUNC quad_vote quad_active_threads_mask() { return quad_vote(mb::quad_ballot(true).votes); }
MB_FUNC bool quad_any(bool vote) { return mb::quad_ballot(vote).votes != 0; }
MB_FUNC bool quad_all(bool vote) {
  mb::Ballot all = mb::quad_ballot(vote);
  return all.votes == all.active;
}
MB_FUNC bool quad_is_first() {
  mb::u32 active = mb::quad_ballot(true).votes;
  return (active & -active) == 1u << (mb::lane() & 3);
}
MB_FUNC bool quad_is_helper_thread() { return false; }
template <class A, class R = mb::arg<A>>
MB_FUNC R quad_broadcast_first(A a) {
  mb::u32 active = mb::quad_ballot(true).votes;
  return mb::quad_move<mb::Move::to>(mb::lift<R>(a), __builtin_ctz(active));
}
template <class A, class B, class R = mb::join<A, B>>
MB_FUNC R quad_shuffle_and_fill_up(A a, B fill, ushort by, ushort modulo = 4) {
  return mb::simd_fill<true>(mb::lift<R>(a), mb::lift<R>(fill), by, modulo);
}
template <class A, class B, class R = mb::join<A, B>>
MB_FUNC R quad_shuffle_and_fill_down(A a, B fill, ushort by, ushort modulo = 4) {
  return mb::simd_fill<false>(mb::lift<R>(a), mb::lift<R>(fill), by, modulo);
}

}  // namespace metal
