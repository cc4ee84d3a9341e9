#pragma once

#include <cstddef>

namespace metalbench::cpu {

// Zeroed memory that is committed on first touch.
class Reserved {
 public:
  Reserved() = default;
  // `is_dense`: nearly all of it will be touched, so that committing it at once is cheaper.
  explicit Reserved(std::size_t size, bool is_dense = false);
  Reserved(Reserved&& other) noexcept;
  Reserved& operator=(Reserved&&) = delete;
  ~Reserved();

  // For types whose zero value is all zero bits.
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace metalbench::cpu
