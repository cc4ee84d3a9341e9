// metal::cooperative_tensor: a matrix whose elements the threads of a scope hold in registers.
#pragma once

#include "tensor.h"
#include "tensor_layout.h"

namespace mb {

// The elements of a cooperative tensor by index: coordinates, and whether they exist. A matrix has
// the coordinates (column, row).
template <class Layout_, class Scope_>
struct MatrixElements {
  using Layout = Layout_;
  using Scope = Scope_;
  static constexpr int rank = 2;
  static constexpr int capacity = Layout::capacity, storage = Layout::storage;
  template <class Coord>
  MB_FUNC static metal::array<Coord, 2> coordinates(int i) {
    const int thread = scope_traits<Scope>::thread();
    return {Coord(Layout::column(thread, Layout::column_slot(i))),
            Coord(Layout::row(thread, Layout::row_slot(i)))};
  }
  static constexpr bool is_exact = Layout::is_exact;
  MB_FUNC static bool exists(int i) {
    if (i < 0 || i >= capacity) return false;
    const auto at = coordinates<int>(i);
    return at[0] < Layout::columns && at[1] < Layout::rows;
  }
  // Whether this thread stores the element, of which others may have copies.
  MB_FUNC static bool is_owner(int) { return true; }
};

// One element for each row, in all lanes that have elements of the row; of each column likewise.
template <class Layout_, class Scope_>
struct RowElements {
  using Layout = Layout_;
  using Scope = Scope_;
  static constexpr int rank = 1;
  static constexpr int capacity = Layout::row_slots, storage = capacity;
  static constexpr bool is_exact = Layout::is_exact;
  template <class Coord>
  MB_FUNC static metal::array<Coord, 1> coordinates(int i) {
    return {Coord(Layout::row(scope_traits<Scope>::thread(), i))};
  }
  MB_FUNC static bool exists(int i) {
    return i >= 0 && i < capacity && coordinates<int>(i)[0] < Layout::rows;
  }
  MB_FUNC static bool is_owner(int) {
    return (u32(scope_traits<Scope>::thread()) & Layout::column_mask) == 0;
  }
};
template <class Layout_, class Scope_>
struct ColumnElements {
  using Layout = Layout_;
  using Scope = Scope_;
  static constexpr int rank = 1;
  static constexpr int capacity = Layout::column_slots, storage = capacity;
  static constexpr bool is_exact = Layout::is_exact;
  template <class Coord>
  MB_FUNC static metal::array<Coord, 1> coordinates(int i) {
    return {Coord(Layout::column(scope_traits<Scope>::thread(), i))};
  }
  MB_FUNC static bool exists(int i) {
    return i >= 0 && i < capacity && coordinates<int>(i)[0] < Layout::columns;
  }
  MB_FUNC static bool is_owner(int) {
    return (u32(scope_traits<Scope>::thread()) & Layout::row_mask) == 0;
  }
};
// The result of a convolution, a matrix of positions and channels, with coordinates (channel, x, y,
// batch).
template <class Layout_, class Scope_, int width, int height>
struct ImageElements {
  using Layout = Layout_;
  using Scope = Scope_;
  static constexpr int rank = 4;
  static constexpr int capacity = Layout::capacity, storage = Layout::storage;
  static constexpr bool is_exact = Layout::is_exact;
  template <class Coord>
  MB_FUNC static metal::array<Coord, 4> coordinates(int i) {
    const int thread = scope_traits<Scope>::thread();
    const int at = Layout::row(thread, Layout::row_slot(i));
    return {Coord(Layout::column(thread, Layout::column_slot(i))), Coord(at % width),
            Coord(at / width % height), Coord(at / (width * height))};
  }
  MB_FUNC static bool exists(int i) { return MatrixElements<Layout, Scope>::exists(i); }
  MB_FUNC static bool is_owner(int) { return true; }
};

// The index in a reduction's result of an element of the matrix that it reduces; -1 if the two do
// not belong together.
template <class To, class From>
struct map_element {
  static constexpr bool is_compatible = false;
  static constexpr int of(int) { return -1; }
};
template <class Elements>
struct map_element<Elements, Elements> {
  static constexpr bool is_compatible = true;
  static constexpr int of(int i) { return i; }
};
template <class Layout, class Scope>
struct map_element<RowElements<Layout, Scope>, MatrixElements<Layout, Scope>> {
  static constexpr bool is_compatible = true;
  static constexpr int of(int i) { return Layout::row_slot(i); }
};
template <class Layout, class Scope>
struct map_element<ColumnElements<Layout, Scope>, MatrixElements<Layout, Scope>> {
  static constexpr bool is_compatible = true;
  static constexpr int of(int i) { return Layout::column_slot(i); }
};

}  // namespace mb

namespace metal {

template <class ElementType, class Extents, class Layout>
class cooperative_tensor;

}  // namespace metal

namespace mb {

// An element of a cooperative tensor of this thread. Tensor is const for constant elements.
template <class Tensor, class E>
class CooperativeIterator {
 public:
  using value_type = __remove_cv(E);
  using difference_type = int;

  CooperativeIterator() = default;
  MB_FUNC CooperativeIterator(Tensor* tensor, int index) : mb_tensor(tensor), mb_index(index) {}
  template <class T, class F>
  MB_FUNC CooperativeIterator(const CooperativeIterator<T, F>& other)
      : mb_tensor(other.mb_tensor), mb_index(other.mb_index) {}

  MB_FUNC E& operator*() const { return mb_tensor->mb_element[mb_index]; }
  MB_FUNC E* operator->() const { return &mb_tensor->mb_element[mb_index]; }
  MB_FUNC CooperativeIterator& operator++() { return *this += 1; }
  MB_FUNC CooperativeIterator operator++(int) {
    CooperativeIterator before = *this;
    *this += 1;
    return before;
  }
  MB_FUNC CooperativeIterator& operator--() { return *this += -1; }
  MB_FUNC CooperativeIterator& operator+=(int by) {
    mb_index += by;
    return *this;
  }
  MB_FUNC CooperativeIterator operator+(int by) const {
    return CooperativeIterator(mb_tensor, mb_index + by);
  }
  MB_FUNC int operator-(const CooperativeIterator& other) const {
    return mb_index - other.mb_index;
  }
  MB_FUNC bool operator==(const CooperativeIterator& other) const {
    return mb_index == other.mb_index;
  }
  MB_FUNC bool operator!=(const CooperativeIterator& other) const {
    return mb_index != other.mb_index;
  }
  MB_FUNC bool operator<(const CooperativeIterator& other) const {
    return mb_index < other.mb_index;
  }
  MB_FUNC auto get_multidimensional_index() const {
    return mb_tensor->get_multidimensional_index(mb_index);
  }
  MB_FUNC bool is_valid_element() const { return mb_tensor->is_valid_element(mb_index); }

  Tensor* mb_tensor;
  int mb_index;
};

}  // namespace mb

namespace metal {

template <class ElementType, class Extents, class Layout>
class cooperative_tensor {
 public:
  using element_type = ElementType;
  using value_type = ElementType;
  using extents_type = Extents;
  using layout_type = Layout;
  using index_type = typename Extents::index_type;
  using iterator = mb::CooperativeIterator<cooperative_tensor, ElementType>;
  using const_iterator = mb::CooperativeIterator<const cooperative_tensor, const ElementType>;

  static constexpr int get_rank() { return Layout::rank; }
  static constexpr int rank() { return Layout::rank; }
  // The number of elements of this thread; some of them may not exist.
  static constexpr ushort get_capacity() { return Layout::capacity; }
  static constexpr ushort capacity() { return Layout::capacity; }
  static constexpr ushort size() { return Layout::capacity; }
  static constexpr index_type get_extent(size_t i) { return index_type(Extents::static_extent(i)); }

  // Elements are not initialised: with a defaulted constructor, `cooperative_tensor()` would set
  // them to zero.
  MB_FUNC cooperative_tensor() {}

  MB_FUNC ElementType& operator[](int i) { return mb_element[i]; }
  MB_FUNC const ElementType& operator[](int i) const { return mb_element[i]; }
  MB_FUNC ElementType get(int i) const {
    return is_valid_element(i) ? mb_element[i] : ElementType(0);
  }
  MB_FUNC void set(int i, ElementType value) {
    if (is_valid_element(i)) mb_element[i] = value;
  }

  MB_FUNC bool is_valid_element(int i) const { return Layout::exists(i); }
  MB_FUNC bool is_valid_element(const const_iterator& at) const {
    return is_valid_element(at.mb_index);
  }
  MB_FUNC bool is_valid_element(const ElementType* at) const {
    return is_valid_element(int(at - mb_element));
  }
  MB_FUNC bool mask(int i) const { return is_valid_element(i); }

  MB_FUNC auto get_multidimensional_index(int i) const {
    return Layout::template coordinates<index_type>(i);
  }
  MB_FUNC auto get_multidimensional_index(const const_iterator& at) const {
    return get_multidimensional_index(at.mb_index);
  }
  MB_FUNC auto get_multidimensional_index(const ElementType* at) const {
    return get_multidimensional_index(int(at - mb_element));
  }
  MB_FUNC auto multidimensional_indices(int i) const { return get_multidimensional_index(i); }

  MB_FUNC iterator begin() { return iterator(this, 0); }
  MB_FUNC iterator end() { return iterator(this, Layout::capacity); }
  MB_FUNC const_iterator begin() const { return const_iterator(this, 0); }
  MB_FUNC const_iterator end() const { return const_iterator(this, Layout::capacity); }
  MB_FUNC iterator get_iterator(const ElementType* at) {
    return iterator(this, int(at - mb_element));
  }
  // The element that an element of another cooperative tensor belongs to.
  template <class Other, class E>
  MB_FUNC iterator map_iterator(const mb::CooperativeIterator<Other, E>& at) {
    using Map = mb::map_element<Layout, typename mb::bare<Other>::layout_type>;
    static_assert(Map::is_compatible,
                  "map_iterator: the iterator's tensor has another layout; ask "
                  "is_iterator_compatible first");
    return iterator(this, Map::of(at.mb_index));
  }

  // Elements outside of the tensor's extents are zero.
  template <class Tensor>
  MB_FUNC void load(const Tensor& source) {
    mb_check<Tensor>();
    mb_each(source, [&](int i, auto* at, bool is_inside) __attribute__((always_inline)) {
      mb_element[i] = is_inside ? ElementType(*at) : ElementType(0);
    });
  }
  // Elements outside of the tensor's extents are not written.
  template <class Tensor>
  MB_FUNC void store(const Tensor& target) const {
    mb_check<Tensor>();
#if MB_HOPPER
    if constexpr (Layout::rank == 2 && Tensor::rank() == 2 && sizeof(ElementType) >= 2 &&
                  mb::is_warpgroup_layout<typename Layout::Layout>) {
      if (mb::store_neighbours<Layout>(mb_element, target)) return;
    }
#endif
    mb_each(target, [&](int i, auto* at, bool is_inside) __attribute__((always_inline)) {
      if (is_inside && Layout::is_owner(i)) *at = mb_element[i];
    });
  }

  ElementType mb_element[Layout::storage];

 private:
  template <class Tensor>
  MB_FUNC static constexpr void mb_check() {
    static_assert(mb::is_tensor<Tensor>, "load and store need a tensor");
    static_assert(__is_same(typename Tensor::value_type, ElementType),
                  "the tensor and the cooperative tensor have different element types");
    static_assert(int(Tensor::rank()) == Layout::rank || Tensor::rank() == 1,
                  "the tensor and the cooperative tensor have different ranks");
  }

  // Call `access` with each index, the element's address and whether it is inside of the tensor. A
  // tensor of rank 1 is a row: the same for all rows.
  template <class Tensor, class Access>
  MB_FUNC static void mb_each(const Tensor& tensor, Access access) {
    constexpr int dimensions = int(Tensor::rank());
    using Scope = mb::scope_traits<typename Layout::Scope>;
    // Threads outside of the scope have no elements.
    bool is_whole = Scope::thread() < Scope::threads;
    for (int d = 0; d < dimensions; ++d)
      is_whole = is_whole && tensor.mb_limits[d] >= long(Extents::static_extent(d));
    const auto address = [&](int i) __attribute__((always_inline)) {
      const auto at = Layout::template coordinates<int>(i);
      long offset = tensor.mb_origin;
      for (int d = 0; d < dimensions; ++d) offset += long(at[d]) * tensor.mb_strides[d];
      return tensor.mb_data + offset;
    };
    if (is_whole) {
#pragma clang loop unroll(full)
      for (int i = 0; i < Layout::capacity; ++i)
        access(i, address(i), Layout::is_exact || Layout::exists(i));
      return;
    }
    for (int i = 0; i < Layout::capacity; ++i) {
      const auto at = Layout::template coordinates<int>(i);
      bool is_inside = Layout::exists(i);
      for (int d = 0; d < dimensions; ++d) is_inside = is_inside && at[d] < tensor.mb_limits[d];
      access(i, address(i), is_inside);
    }
  }
};

}  // namespace metal
