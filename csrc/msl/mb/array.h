// metal::array and metal::array_ref.
#pragma once

#include "scalar.h"
#include "subscript.h"

namespace metal {

// The size is the bound of an array type, as for vec.
template <class T, class Size>
struct mb_array;
template <class T, unsigned long N>
using array = mb_array<T, char[N]>;

template <class T, unsigned long N>
struct mb_array<T, char[N]> {
  using value_type = T;
  T __elems[N];

  static constexpr unsigned long size() { return N; }
  static constexpr bool empty() { return false; }
  MB_ACCESSOR(auto&, operator[], self.__elems[MB_SUBSCRIPT(i, N, "an array")], unsigned long i)
  MB_ACCESSOR(auto*, data, self.__elems + 0)
  MB_ACCESSOR(auto*, begin, self.__elems + 0)
  MB_ACCESSOR(auto*, end, self.__elems + N)
  MB_ACCESSOR(auto&, front, self.__elems[0])
  MB_ACCESSOR(auto&, back, self.__elems[N - 1])
  MB_FUNC constexpr const T* cbegin() const { return __elems; }
  MB_FUNC constexpr const T* cend() const { return __elems + N; }
  MB_FUNC constexpr void fill(const T& value) {
    for (unsigned long i = 0; i < N; ++i) __elems[i] = value;
  }
  static constexpr unsigned long max_size() { return N; }

  MB_FUNC friend constexpr bool operator==(const mb_array& a, const mb_array& b) {
    bool same = true;
    for (unsigned long i = 0; i < N; ++i) same = same && a[i] == b[i];
    return same;
  }
  MB_FUNC friend constexpr bool operator!=(const mb_array& a, const mb_array& b) { return !(a == b); }
};
// No bound can be deduced from an array of size zero.
template <class T>
struct mb_array<T, char[0]> {
  using value_type = T;
  static constexpr unsigned long size() { return 0; }
  static constexpr unsigned long max_size() { return 0; }
  static constexpr bool empty() { return true; }
  MB_FUNC constexpr const T* data() const { return nullptr; }
  MB_FUNC constexpr const T* begin() const { return nullptr; }
  MB_FUNC constexpr const T* end() const { return nullptr; }
  MB_FUNC constexpr void fill(const T&) {}
};

template <class T, class... Rest>
mb_array(T, Rest...) -> mb_array<T, char[1 + sizeof...(Rest)]>;

template <class T>
class array_ref {
 public:
  using value_type = T;
  array_ref() = default;
  MB_FUNC constexpr array_ref(const T* data, unsigned long size) : data_(data), size_(size) {}
  template <unsigned long N>
  MB_FUNC constexpr array_ref(const array<T, N>& a) : data_(a.data()), size_(N) {}
  template <unsigned long N>
  MB_FUNC constexpr array_ref(const T (&a)[N]) : data_(a), size_(N) {}
  MB_FUNC constexpr unsigned long size() const { return size_; }
  MB_FUNC constexpr bool empty() const { return size_ == 0; }
  MB_FUNC constexpr const T* begin() const { return data_; }
  MB_FUNC constexpr const T* end() const { return data_ + size_; }
  MB_FUNC constexpr const T& front() const { return data_[0]; }
  MB_FUNC constexpr const T& back() const { return data_[size_ - 1]; }
  MB_FUNC constexpr const T* data() const { return data_; }
  MB_FUNC constexpr const T& operator[](unsigned long i) const {
    return data_[MB_SUBSCRIPT(i, size_, "an array_ref")];
  }

 private:
  const T* data_ = nullptr;
  unsigned long size_ = 0;
};

template <class T>
MB_FUNC constexpr array_ref<T> make_array_ref(const T* data, unsigned long size) {
  return array_ref<T>(data, size);
}
template <class T, unsigned long N>
MB_FUNC constexpr array_ref<T> make_array_ref(const T (&a)[N]) {
  return array_ref<T>(a);
}

}  // namespace metal
