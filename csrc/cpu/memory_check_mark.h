// The last access to some bytes, in 64 bits, so that workers can exchange it atomically.
#pragma once

#include <atomic>
#include <cstdint>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

class Mark {
 public:
  // Several threads may have read the same bytes, updated them atomically, or written the same
  // value without synchronisation. Then the mark describes the last access and one other: of
  // another lane, another SIMD-group or another threadgroup.
  enum class By : std::uint64_t { thread, lanes, simdgroups, threadgroups };

  static constexpr std::uint32_t segments = 1U << 28;

  Mark() = default;
  bool operator==(const Mark&) const = default;
  Mark(std::uint32_t segment, std::uint32_t thread, std::uint32_t round)
      : bits_(segment | std::uint64_t{thread % 1024} << 28 | std::uint64_t{round} << 45) {}

  [[nodiscard]] std::uint32_t segment() const { return bits_ % segments; }   // 0: no access
  [[nodiscard]] std::uint32_t thread() const { return bits_ >> 28 & 1023; }  // in its group
  [[nodiscard]] std::uint32_t simdgroup() const { return thread() / mb::simd_width; }
  [[nodiscard]] By by() const { return static_cast<By>(bits_ >> 38 & 3); }
  // Synchronisation round of the SIMD-group, truncated. By::simdgroups and By::threadgroups
  // overwrite it, because they conflict in any round.
  [[nodiscard]] std::uint32_t round() const { return static_cast<std::uint32_t>(bits_ >> 45); }

  [[nodiscard]] Mark with_lane(std::uint32_t other) const {
    return Mark(bits_ | of(By::lanes) | std::uint64_t{other % mb::simd_width} << 40);
  }
  [[nodiscard]] Mark with_simdgroup_of(std::uint32_t thread) const {
    return Mark(bits_ % (1ULL << 40) | of(By::simdgroups) | std::uint64_t{thread} << 40);
  }
  [[nodiscard]] Mark with_threadgroup_of(std::uint32_t segment, std::uint32_t thread) const {
    const std::uint64_t other = std::uint64_t{segment % near_segments} << 10 | thread;
    return Mark(bits_ % (1ULL << 40) | of(By::threadgroups) | other << 40);
  }

  [[nodiscard]] std::uint32_t other_thread() const {
    if (by() != By::lanes) return bits_ >> 40 & 1023;
    return simdgroup() * mb::simd_width + (bits_ >> 40) % mb::simd_width;
  }
  // Return the nearest segment with these low bits: threadgroups that conflict run at about the
  // same time.
  [[nodiscard]] std::uint32_t other_segment() const {
    const std::uint32_t half = near_segments / 2;
    const auto end = static_cast<std::uint32_t>(bits_ >> 50);
    return segment() + (end + half - segment()) % near_segments - half;
  }

 private:
  static constexpr std::uint32_t near_segments = 1U << 14;

  explicit Mark(std::uint64_t bits) : bits_(bits) {}
  static std::uint64_t of(By by) { return static_cast<std::uint64_t>(by) << 38; }

  std::uint64_t bits_ = 0;
};

// Exchanged atomically, because several workers may update one word at the same time.
using Cell = std::atomic<Mark>;
static_assert(sizeof(Cell) == 8);
static_assert(Cell::is_always_lock_free);

}  // namespace metalbench::cpu
