// Who touched some bytes last, in 64 bits, so that workers can exchange it in one piece.
#pragma once

#include <atomic>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

class Mark {
 public:
  // Several may have read the same bytes, updated them atomically, or written the same to them,
  // with nothing in between.
  enum class By : std::uint64_t { thread, lanes, simdgroups, threadgroups };

  Mark() = default;
  bool operator==(const Mark&) const = default;
  Mark(std::uint32_t segment, std::uint32_t thread, std::uint32_t round)
      : bits_(segment | std::uint64_t{thread % 1024} << 32 | std::uint64_t{round} << 44) {}

  [[nodiscard]] Mark with(By by) const {
    Mark mark = *this;
    mark.bits_ |= static_cast<std::uint64_t>(by) << 42;
    return mark;
  }

  [[nodiscard]] std::uint32_t segment() const {  // 0: nobody
    return static_cast<std::uint32_t>(bits_);
  }
  // In its group; of several, the last.
  [[nodiscard]] std::uint32_t thread() const { return bits_ >> 32 & 1023; }
  [[nodiscard]] std::uint32_t simdgroup() const { return thread() / mb::simd_width; }
  [[nodiscard]] By by() const { return static_cast<By>(bits_ >> 42 & 3); }
  // Of its SIMD-group, as many as fit.
  [[nodiscard]] std::uint32_t round() const { return static_cast<std::uint32_t>(bits_ >> 44); }

 private:
  std::uint64_t bits_ = 0;
};

// Marks are read and written without order: a worker that misses what another one does in the
// same moment misses one of many chances to see a race.
using Cell = std::atomic<Mark>;
static_assert(sizeof(Cell) == 8);
static_assert(Cell::is_always_lock_free);

}  // namespace metalbench::cpu
