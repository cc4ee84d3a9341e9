#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/sanitizer.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Stacks of one worker's GPU threads: address space for all, memory on first touch, and a guard
// page below each.
class Stacks {
 public:
  explicit Stacks(std::uint32_t count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  [[nodiscard]] mb::Fiber* fiber(std::uint32_t index) const {
    return mb::fiber_of(reinterpret_cast<mb::uptr>(base_) + index * mb::stack_bytes);
  }
  [[nodiscard]] bool contains(const void* address) const {
    const auto offset = reinterpret_cast<mb::uptr>(address) - reinterpret_cast<mb::uptr>(base_);
    return offset < count_ * mb::stack_bytes;
  }
  // Clear the frames of abandoned GPU threads.
  void forget_frames() const { cpu::forget_frames(base_, count_ * mb::stack_bytes); }
  // Return the bytes from an address in a stack down to its guard page.
  [[nodiscard]] std::size_t room_below(const void* address) const {
    const std::size_t offset = reinterpret_cast<mb::uptr>(address) % mb::stack_bytes;
    return offset < page_bytes_ ? 0 : offset - page_bytes_;
  }
  // Return whether the address lies in a guard page.
  [[nodiscard]] bool in_guard(const void* address) const;

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::size_t count_;
  std::size_t page_bytes_;
};

}  // namespace metalbench::cpu
