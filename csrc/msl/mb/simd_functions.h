// The names of the SIMD-group functions.
#pragma once

#include "simdgroup.h"

namespace metal {

class simd_vote {
 public:
  using vote_t = ulong;
  MB_FUNC explicit constexpr simd_vote(vote_t votes = 0) : votes_(votes) {}
  MB_FUNC explicit constexpr operator vote_t() const { return votes_; }
  MB_FUNC constexpr bool all() const { return votes_ == 0xffffffff; }
  MB_FUNC constexpr bool any() const { return votes_ != 0; }

 private:
  vote_t votes_;
};

#define MB_SIMD1(name, ...)                \
  template <class A, class R = mb::arg<A>> \
  MB_FUNC R name(A a) {                    \
    R x = mb::lift<R>(a);                  \
    return __VA_ARGS__;                    \
  }
#define MB_SIMD2(name, ...)                \
  template <class A, class R = mb::arg<A>> \
  MB_FUNC R name(A a, ushort by) {         \
    R x = mb::lift<R>(a);                  \
    return __VA_ARGS__;                    \
  }

MB_SIMD1(simd_sum, mb::simd_reduce<mb::Sum>(x))
MB_SIMD1(simd_product, mb::simd_reduce<mb::Product>(x))
MB_SIMD1(simd_min, mb::simd_reduce<mb::Least>(x))
MB_SIMD1(simd_max, mb::simd_reduce<mb::Greatest>(x))
MB_SIMD1(simd_and, mb::simd_reduce<mb::And>(x))
MB_SIMD1(simd_or, mb::simd_reduce<mb::Or>(x))
MB_SIMD1(simd_xor, mb::simd_reduce<mb::Xor>(x))
MB_SIMD1(simd_prefix_inclusive_sum, mb::simd_scan<mb::Sum, true>(x))
MB_SIMD1(simd_prefix_exclusive_sum, mb::simd_scan<mb::Sum, false>(x))
MB_SIMD1(simd_prefix_inclusive_product, mb::simd_scan<mb::Product, true>(x))
MB_SIMD1(simd_prefix_exclusive_product, mb::simd_scan<mb::Product, false>(x))
MB_SIMD1(simd_broadcast_first, mb::simd_first(x))
MB_SIMD2(simd_broadcast, mb::simd_move<mb::Move::to>(x, by))
MB_SIMD2(simd_shuffle, mb::simd_move<mb::Move::to>(x, by))
MB_SIMD2(simd_shuffle_up, mb::simd_move<mb::Move::up>(x, by))
MB_SIMD2(simd_shuffle_down, mb::simd_move<mb::Move::down>(x, by))
MB_SIMD2(simd_shuffle_xor, mb::simd_move<mb::Move::exclusive_or>(x, by))
MB_SIMD2(simd_shuffle_rotate_up, mb::simd_move<mb::Move::rotate_up>(x, by))
MB_SIMD2(simd_shuffle_rotate_down, mb::simd_move<mb::Move::rotate_down>(x, by))
#undef MB_SIMD1
#undef MB_SIMD2

template <class A, class B, class R = mb::join<A, B>>
MB_FUNC R simd_shuffle_and_fill_up(A a, B fill, ushort by, ushort modulo = 32) {
  return mb::simd_fill<true>(mb::lift<R>(a), mb::lift<R>(fill), by, modulo);
}
template <class A, class B, class R = mb::join<A, B>>
MB_FUNC R simd_shuffle_and_fill_down(A a, B fill, ushort by, ushort modulo = 32) {
  return mb::simd_fill<false>(mb::lift<R>(a), mb::lift<R>(fill), by, modulo);
}

MB_FUNC simd_vote simd_ballot(bool vote) { return simd_vote(mb::ballot(vote).votes); }
MB_FUNC simd_vote simd_active_threads_mask() { return simd_vote(mb::ballot(true).votes); }
MB_FUNC bool simd_any(bool vote) { return mb::ballot(vote).votes != 0; }
MB_FUNC bool simd_all(bool vote) {
  mb::Ballot all = mb::ballot(vote);
  return all.votes == all.active;
}
MB_FUNC bool simd_is_first() {
  mb::u32 active = mb::ballot(true).votes;
  return (active & -active) == 1u << mb::lane();
}
MB_FUNC bool simd_is_helper_thread() { return false; }

}  // namespace metal
