// Names of the functions of SIMD-groups and quads, which differ only in the width.
#pragma once

#include "simdgroup.h"

namespace metal {

#define MB_VOTE(name, Type, every)                                      \
  class name {                                                          \
   public:                                                              \
    using vote_t = Type;                                                \
    MB_FUNC explicit constexpr name(vote_t votes = 0) : votes_(votes) {} \
    MB_FUNC explicit constexpr operator vote_t() const { return votes_; } \
    MB_FUNC constexpr bool all() const { return votes_ == every; }      \
    MB_FUNC constexpr bool any() const { return votes_ != 0; }          \
                                                                        \
   private:                                                             \
    vote_t votes_;                                                      \
  };
MB_VOTE(simd_vote, ulong, 0xffffffff)
MB_VOTE(quad_vote, uint, 15)
#undef MB_VOTE

#define MB_OF_ONE(name, ...)               \
  template <class A, class R = mb::arg<A>> \
  MB_FUNC R name(A a) {                    \
    R x = mb::lift<R>(a);                  \
    return __VA_ARGS__;                    \
  }
#define MB_SHUFFLE(name, size, move)                      \
  template <class A, class R = mb::arg<A>>                \
  MB_FUNC R name(A a, ushort by) {                        \
    return mb::shuffle<size, move>(mb::lift<R>(a), by);   \
  }
#define MB_FILL(name, size, up)                                                           \
  template <class A, class B, class R = mb::join<A, B>>                                   \
  MB_FUNC R name(A a, B fill, ushort by, ushort modulo = size) {                          \
    return mb::shuffle_and_fill<up>(mb::lift<R>(a), mb::lift<R>(fill), by, modulo);       \
  }

// `part` is the prefix of the names, `size` the number of lanes.
#define MB_GROUP_FUNCTIONS(part, size)                                                    \
  MB_OF_ONE(part##_sum, mb::reduce<size, mb::Sum>(x))                                     \
  MB_OF_ONE(part##_product, mb::reduce<size, mb::Product>(x))                             \
  MB_OF_ONE(part##_min, mb::reduce<size, mb::Least>(x))                                   \
  MB_OF_ONE(part##_max, mb::reduce<size, mb::Greatest>(x))                                \
  MB_OF_ONE(part##_and, mb::reduce<size, mb::And>(x))                                     \
  MB_OF_ONE(part##_or, mb::reduce<size, mb::Or>(x))                                       \
  MB_OF_ONE(part##_xor, mb::reduce<size, mb::Xor>(x))                                     \
  MB_OF_ONE(part##_prefix_inclusive_sum, mb::scan<size, mb::Sum, true>(x))                \
  MB_OF_ONE(part##_prefix_exclusive_sum, mb::scan<size, mb::Sum, false>(x))               \
  MB_OF_ONE(part##_prefix_inclusive_product, mb::scan<size, mb::Product, true>(x))        \
  MB_OF_ONE(part##_prefix_exclusive_product, mb::scan<size, mb::Product, false>(x))       \
  MB_OF_ONE(part##_broadcast_first, mb::broadcast_first<size>(x))                         \
  MB_SHUFFLE(part##_broadcast, size, mb::Move::broadcast)                                 \
  MB_SHUFFLE(part##_shuffle, size, mb::Move::to)                                          \
  MB_SHUFFLE(part##_shuffle_up, size, mb::Move::up)                                       \
  MB_SHUFFLE(part##_shuffle_down, size, mb::Move::down)                                   \
  MB_SHUFFLE(part##_shuffle_xor, size, mb::Move::exclusive_or)                            \
  MB_SHUFFLE(part##_shuffle_rotate_up, size, mb::Move::rotate_up)                         \
  MB_SHUFFLE(part##_shuffle_rotate_down, size, mb::Move::rotate_down)                     \
  MB_FILL(part##_shuffle_and_fill_up, size, true)                                         \
  MB_FILL(part##_shuffle_and_fill_down, size, false)                                      \
                                                                                          \
  MB_FUNC part##_vote part##_ballot(bool vote) {                                          \
    return part##_vote(mb::ballot<size>(vote).votes);                                     \
  }                                                                                       \
  MB_FUNC part##_vote part##_active_threads_mask() {                                      \
    return part##_vote(mb::ballot<size>(true).votes);                                     \
  }                                                                                       \
  MB_FUNC bool part##_any(bool vote) { return mb::ballot<size>(vote).votes != 0; }        \
  MB_FUNC bool part##_all(bool vote) {                                                    \
    mb::Ballot all = mb::ballot<size>(vote);                                              \
    return all.votes == all.active;                                                       \
  }                                                                                       \
  MB_FUNC bool part##_is_first() {                                                        \
    mb::u32 active = mb::ballot<size>(true).votes;                                        \
    return (active & -active) == 1u << mb::lane() % size;                                 \
  }                                                                                       \
  MB_FUNC bool part##_is_helper_thread() { return false; }

MB_GROUP_FUNCTIONS(simd, mb::simd_width)
MB_GROUP_FUNCTIONS(quad, mb::quad_width)
#undef MB_GROUP_FUNCTIONS
#undef MB_OF_ONE
#undef MB_SHUFFLE
#undef MB_FILL

}  // namespace metal
