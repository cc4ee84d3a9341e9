// metal::extents: the sizes of a tensor, of which any may be known to the compiler.
#pragma once

#include "array.h"
#include "integer_sequence.h"
#include "traits.h"

namespace metal {

// The size of a dimension that is known at run time only.
inline constexpr size_t dynamic_extent = ~size_t(0);

// Dimension 0 is the innermost one: a matrix of M rows of K elements has extents (K, M).
template <class IndexType, size_t... Sizes>
class extents {
 public:
  using index_type = IndexType;
  using size_type = size_t;
  using rank_type = size_t;

  static constexpr rank_type rank() { return sizeof...(Sizes); }
  static constexpr rank_type rank_dynamic() { return ((Sizes == dynamic_extent) + ... + 0); }
  static constexpr size_t static_extent(rank_type i) {
    constexpr size_t sizes[] = {Sizes..., 0};
    return sizes[i];
  }

  MB_FUNC constexpr extents() : mb_sizes{} { mb_set_static(); }
  // One integer for each dynamic size, or one for each dimension.
  template <class... I, class = typename mb::enable_if<
                            (sizeof...(I) > 0) && (__is_convertible(I, IndexType) && ...)>::type>
  MB_FUNC constexpr extents(I... sizes) : mb_sizes{} {
    static_assert(sizeof...(I) == rank_dynamic() || sizeof...(I) == rank(),
                  "extents need one integer for each dynamic size");
    mb_set_static();
    const IndexType given[] = {IndexType(sizes)...};
    for (rank_type i = 0, next = 0; i < rank(); ++i) {
      if (sizeof...(I) == rank())
        mb_sizes[i] = given[i];
      else if (static_extent(i) == dynamic_extent)
        mb_sizes[i] = given[next++];
    }
  }
  template <class OtherIndex, size_t... OtherSizes>
  MB_FUNC constexpr extents(const extents<OtherIndex, OtherSizes...>& other) : mb_sizes{} {
    static_assert(sizeof...(OtherSizes) == sizeof...(Sizes), "extents of different ranks");
    for (rank_type i = 0; i < rank(); ++i) mb_sizes[i] = IndexType(other.extent(i));
  }

  MB_FUNC constexpr IndexType extent(rank_type i) const {
    const size_t size = static_extent(i);
    return size == dynamic_extent ? mb_sizes[i] : IndexType(size);
  }

  template <class OtherIndex, size_t... OtherSizes>
  MB_FUNC friend constexpr bool operator==(const extents& a,
                                           const extents<OtherIndex, OtherSizes...>& b) {
    bool same = sizeof...(Sizes) == sizeof...(OtherSizes);
    for (rank_type i = 0; same && i < rank(); ++i) same = a.extent(i) == IndexType(b.extent(i));
    return same;
  }

 private:
  MB_FUNC constexpr void mb_set_static() {
    for (rank_type i = 0; i < rank(); ++i) {
      if (static_extent(i) != dynamic_extent) mb_sizes[i] = IndexType(static_extent(i));
    }
  }
  IndexType mb_sizes[sizeof...(Sizes) == 0 ? 1 : sizeof...(Sizes)];
};

}  // namespace metal

namespace mb {

template <class Index, class Sequence>
struct dynamic_extents;
template <class Index, unsigned long... i>
struct dynamic_extents<Index, metal::index_sequence<i...>> {
  using type = metal::extents<Index, (i, metal::dynamic_extent)...>;
};

}  // namespace mb

namespace metal {

template <class IndexType, size_t Rank>
using dextents = typename mb::dynamic_extents<IndexType, make_index_sequence<Rank>>::type;

}  // namespace metal
