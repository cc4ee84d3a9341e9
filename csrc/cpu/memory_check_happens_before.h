// Happens-before edges through atomic objects and fences.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/memory_check_mark.h"

namespace metalbench::cpu {

// A fence and the memory kinds whose accesses it orders.
struct Fence {
  bool acquires = true;
  bool releases = true;
};

// Releases of other threadgroups that are known: by group, the time of the latest one.
class KnownReleases {
 public:
  [[nodiscard]] bool is_empty() const { return everything_ == 0 && groups_.empty(); }
  [[nodiscard]] bool holds(std::uint64_t group, std::uint32_t time) const;
  void add(std::uint64_t group, std::uint32_t time) { join({{group, time}}, 0); }
  // Add all releases up to this time.
  void add_all(std::uint32_t time) { everything_ = std::max(everything_, time); }
  void join(const KnownReleases& other) { join(other.groups_, other.everything_); }

 private:
  using Groups = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  void join(const Groups& groups, std::uint32_t everything);

  Groups groups_;                 // by group
  std::uint32_t everything_ = 0;  // all releases up to this time are known; 0: none
};

// The atomic objects that threads have read; above a limit only the fact that they are many.
class AtomicReads {
 public:
  void clear() { objects_.clear(), are_many_ = false; }
  void add(const std::byte* object) {
    if (are_many_ || std::ranges::find(objects_, object) != objects_.end()) return;
    are_many_ = objects_.size() == most;
    if (!are_many_) objects_.push_back(object);
  }
  [[nodiscard]] bool are_many() const { return are_many_; }
  [[nodiscard]] const std::vector<const std::byte*>& objects() const { return objects_; }

 private:
  static constexpr std::size_t most = 32;
  std::vector<const std::byte*> objects_;
  bool are_many_ = false;
};

// Happens-before between SIMD-groups of a threadgroup, from one of its barriers to the next.
// Releases and acquires of one lane count for its whole SIMD-group.
class HappensBefore {
 public:
  void start();
  void fence(std::uint32_t thread, Fence fence);
  void read(const std::byte* object, std::uint32_t thread);
  void write(const std::byte* object, std::uint32_t thread);
  // Return whether all threads of the mark have released to the thread's SIMD-group, a different
  // one.
  [[nodiscard]] bool is_over(const Mark& mark, std::uint32_t thread) const;

 private:
  static constexpr std::uint32_t most_simdgroups = mb::max_threads / mb::simd_width;
  using Mask = std::uint32_t;  // one bit per SIMD-group
  static_assert(most_simdgroups <= 32);
  [[nodiscard]] bool knows(std::uint32_t simdgroup, std::uint32_t of) const {
    return simdgroup == of || (known_[simdgroup] >> of & 1) != 0;
  }

  bool is_used_ = false;
  Mask releasing_ = 0;  // executed a fence
  Mask released_ = 0;   // released through any object
  std::array<Mask, most_simdgroups> known_{};
  std::array<AtomicReads, most_simdgroups> read_;
  std::unordered_map<const std::byte*, Mask> objects_;
};

}  // namespace metalbench::cpu
