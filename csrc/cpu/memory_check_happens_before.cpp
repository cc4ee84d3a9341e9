#include "cpu/memory_check_happens_before.h"

namespace metalbench::cpu {
namespace {

// Above this number, all earlier releases count as known.
constexpr std::size_t most_groups = 1024;

constexpr auto group_of = &std::pair<std::uint64_t, std::uint32_t>::first;

}  // namespace

bool KnownReleases::holds(std::uint64_t group, std::uint32_t time) const {
  if (time <= everything_) return true;
  const auto found = std::ranges::lower_bound(groups_, group, {}, group_of);
  return found != groups_.end() && found->first == group && time <= found->second;
}

void KnownReleases::join(const Groups& groups, std::uint32_t everything) {
  everything_ = std::max(everything_, everything);
  for (const auto& [group, time] : groups) {
    const auto found = std::ranges::lower_bound(groups_, group, {}, group_of);
    if (found == groups_.end() || found->first != group) {
      groups_.insert(found, {group, time});
    } else {
      found->second = std::max(found->second, time);
    }
  }
  if (groups_.size() <= most_groups) return;
  for (const auto& [group, time] : groups_) everything_ = std::max(everything_, time);
  groups_.clear();
}

void HappensBefore::start() {
  if (!is_used_) return;
  is_used_ = false;
  releasing_ = released_ = 0;
  known_.fill(0);
  for (AtomicReads& each : read_) each.clear();
  objects_.clear();
}

void HappensBefore::fence(std::uint32_t thread, Fence fence) {
  is_used_ = true;
  const std::uint32_t own = thread / mb::simd_width;
  if (fence.releases) releasing_ |= Mask{1} << own;
  if (!fence.acquires) return;
  if (read_[own].are_many()) known_[own] |= released_;
  for (const std::byte* object : read_[own].objects()) {
    if (const auto found = objects_.find(object); found != objects_.end()) {
      known_[own] |= found->second;
    }
  }
}

void HappensBefore::read(const std::byte* object, std::uint32_t thread) {
  is_used_ = true;
  read_[thread / mb::simd_width].add(object);
}

void HappensBefore::write(const std::byte* object, std::uint32_t thread) {
  const std::uint32_t own = thread / mb::simd_width;
  if ((releasing_ >> own & 1) == 0) return;
  const Mask told = known_[own] | Mask{1} << own;
  released_ |= told;
  objects_[object] |= told;
}

bool HappensBefore::is_over(const Mark& mark, std::uint32_t thread) const {
  const std::uint32_t own = thread / mb::simd_width;
  if (known_[own] == 0) return false;
  const std::uint32_t first = mark.simdgroup();
  if (mark.by() != Mark::By::simdgroups) return first != own && knows(own, first);
  const std::uint32_t second = mark.other_thread() / mb::simd_width;
  return knows(own, first) && knows(own, second);
}

}  // namespace metalbench::cpu
