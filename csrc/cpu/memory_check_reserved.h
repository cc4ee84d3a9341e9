#pragma once

#include <cstddef>

namespace metalbench::cpu {

// Zeroed memory of which only what is touched exists.
class Reserved {
 public:
  Reserved() = default;
  explicit Reserved(std::size_t size);
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
