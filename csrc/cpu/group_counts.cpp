// Combination of a threadgroup's accesses per SIMD-group.
#include <algorithm>

#include "cpu/counter.h"
#include "cpu/group_runner.h"

namespace metalbench::cpu {

void GroupCounts::start_group(std::uint64_t number, std::uint32_t threads) {
  number_ = number;
  threads_ = threads;
  const std::uint32_t simdgroups = (threads + mb::simd_width - 1) / mb::simd_width;
  executions_.assign(std::size_t{threads} * counter_->segments(), 0);
  accesses_.assign(threads, {});
  pending_.resize(std::max(pending_.size(), std::size_t{simdgroups} * counter_->sites()));
  for (auto& each : pending_) each.clear();
  for (std::uint32_t i = 0; i < simdgroups; ++i) {
    counter_->add_simdgroup(std::min(mb::simd_width, threads - i * mb::simd_width));
  }
}

void GroupCounts::access(const mb::Fiber& fiber, const std::byte* address, std::uint32_t site,
                         mb::u32 bytes, mb::Counted kind, std::uint32_t execution) {
  const mb::Group& group = *fiber.bundle->group;
  const auto* arena = reinterpret_cast<const std::byte*>(group.arena);
  const std::uint32_t space = counter_->space_of(address, arena);
  if (space == mb::counts::elsewhere) return;
  auto& of_thread = accesses_[fiber.index];
  const std::size_t first = space == mb::counts::threadgroup ? 2 : 0;
  if (space != mb::counts::constant) {
    if (kind != mb::Counted::write) ++of_thread[first];
    if (kind != mb::Counted::read) ++of_thread[first + 1];
  }
  counter_->trace(site, number_, fiber.index, address, arena);
  auto& by_execution = pending_[std::size_t{fiber.bundle->index} * counter_->sites() + site];
  if (by_execution.size() <= execution) by_execution.resize(execution + 1);
  SimdAccess& together = by_execution[execution];
  together.lanes |= 1u << fiber.lane;
  together.bytes = bytes;
  together.kind = kind;
  together.address[fiber.lane] = address;
}

void GroupCounts::fold(std::uint32_t simdgroup, const std::byte* arena) {
  const std::uint32_t first = simdgroup * mb::simd_width;
  const std::uint32_t lanes = std::min(mb::simd_width, threads_ - first);
  const std::uint32_t segments = counter_->segments();
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    std::uint64_t sum = 0;
    mb::u32 most = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      mb::u32& count = of_thread(first + lane)[segment];
      sum += count;
      most = std::max(most, count);
      count = 0;
    }
    if (sum != 0) counter_->add_segment(segment, sum, most);
  }
  for (std::uint32_t site = 0; site < counter_->sites(); ++site) {
    auto& by_execution = pending_[std::size_t{simdgroup} * counter_->sites() + site];
    for (const SimdAccess& each : by_execution) {
      if (each.lanes != 0) counter_->add_access(site, each, arena);
    }
    by_execution.clear();
  }
}

void GroupCounts::fold_all(const std::byte* arena) {
  for (std::uint32_t i = 0; i * mb::simd_width < threads_; ++i) fold(i, arena);
}

void GroupCounts::end_group(const std::byte* arena) {
  fold_all(arena);
  for (const auto& each : accesses_) counter_->add_thread(each);
}

void GroupRunner::count(mb::Fiber* fiber, const volatile void* address, mb::u32 bytes,
                        mb::Counted kind, mb::u32 site, mb::u32 execution) {
  const auto* place = static_cast<const std::byte*>(const_cast<const void*>(address));
  of(fiber).counts_.access(*fiber, place, site, bytes, kind, execution);
}

}  // namespace metalbench::cpu
