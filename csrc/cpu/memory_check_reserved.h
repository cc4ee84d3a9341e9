#pragma once

#include <cstddef>

namespace metalbench::cpu {

// Zeroed memory of which only what is touched exists.
class Reserved {
 public:
  Reserved() = default;
  // Dense: nearly all of it is going to be touched, which is cheaper at once.
  explicit Reserved(std::size_t size, bool is_dense = false);
  Reserved(Reserved&& other) noexcept;
  Reserved& operator=(Reserved&&) = delete;
  ~Reserved();

  // Of types whose zero is all bits zero.
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace metalbench::cpu
