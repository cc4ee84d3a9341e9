// metal::integer_sequence and the aliases that make one, as in C++14.
#pragma once

#include "scalar.h"

namespace metal {

template <class T, T... values>
struct integer_sequence {
  using value_type = T;
  MB_FUNC static constexpr unsigned long size() { return sizeof...(values); }
};
template <class T, T count>
using make_integer_sequence = __make_integer_seq<integer_sequence, T, count>;

template <unsigned long... values>
using index_sequence = integer_sequence<unsigned long, values...>;
template <unsigned long count>
using make_index_sequence = make_integer_sequence<unsigned long, count>;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;

}  // namespace metal
