// std::initializer_list, with the layout that the compiler expects; Metal also declares it in its
// namespace.
#pragma once

namespace std {

template <class T>
class initializer_list {
  const T* first_ = nullptr;
  decltype(sizeof 0) size_ = 0;

 public:
  using value_type = T;
  constexpr initializer_list() = default;
  constexpr decltype(sizeof 0) size() const { return size_; }
  constexpr const T* begin() const { return first_; }
  constexpr const T* end() const { return first_ + size_; }
};

}  // namespace std

namespace metal {
using std::initializer_list;
}
