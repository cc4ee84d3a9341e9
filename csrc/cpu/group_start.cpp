// Start of a threadgroup: its fibers and their positions.
#include <algorithm>

#include "cpu/group_runner.h"
#include "cpu/switch.h"

namespace metalbench::cpu {
namespace {

// Advance to the position of the thread `count` later.
void advance(mb::Dim3& position, std::uint32_t count, const mb::Dim3& size) {
  position.x += count;
  while (position.x >= size.x) {
    position.x -= size.x;
    if (++position.y < size.y) continue;
    position.y = 0;
    ++position.z;
  }
}

}  // namespace

// Initialise the state that all groups of the same size share.
void GroupRunner::lay_out(mb::Dim3 size, std::uint32_t threads_per_fiber) {
  if (size.x == laid_out_.x && size.y == laid_out_.y && size.z == laid_out_.z &&
      threads_per_fiber == threads_per_fiber_) {
    return;
  }
  laid_out_ = size;
  threads_per_fiber_ = threads_per_fiber;
  group_.size = size;
  group_.threads = size.x * size.y * size.z;
  group_.simdgroups = (group_.threads + mb::simd_width - 1) / mb::simd_width;
  group_.fibers = (group_.threads + threads_per_fiber - 1) / threads_per_fiber;
  for (std::uint32_t i = 0; i < bundles(); ++i) {
    mb::Bundle& bundle = bundles_[i];
    bundle.group = &group_;
    bundle.index = i;
    bundle.lanes = mask_of_first(group_.fibers - i * mb::simd_width);
  }
  mb::Dim3 position{0, 0, 0};
  for (std::uint32_t i = 0; i < group_.fibers; ++i) {
    mb::Fiber* fiber = stacks_->fiber(i);
    prepare_stack(fiber, &GroupRunner::fiber_main);
    fiber->bundle = &bundles_[i / mb::simd_width];
    fiber->lane = i % mb::simd_width;
    fiber->index = i * threads_per_fiber;
    fiber->reads = 0;
    fiber->turns = nullptr;
    fiber->shadow = shadow_ == nullptr ? nullptr : shadow_->of(i);
    fiber->position = position;
    advance(position, threads_per_fiber, size);
  }
}

void GroupRunner::start_group(std::uint64_t number) {
  const mb::Launch& shared = launch_->shared;
  const mb::Dim3 groups = shared.threadgroups_per_grid;
  const mb::Dim3 full = shared.threads_per_threadgroup;
  const mb::Dim3 grid = shared.threads_per_grid;
  const auto x = static_cast<std::uint32_t>(number % groups.x);
  const auto y = static_cast<std::uint32_t>(number / groups.x % groups.y);
  const auto z = static_cast<std::uint32_t>(number / groups.x / groups.y);
  group_.position = {x, y, z};
  const auto extent = [](std::uint32_t total, std::uint32_t at, std::uint32_t size) {
    const std::uint32_t left = total - at * size;
    return left < size ? left : size;
  };
  const mb::Dim3 size{extent(grid.x, x, full.x), extent(grid.y, y, full.y),
                      extent(grid.z, z, full.z)};
  entry_ = size.x == full.x ? &launch_->entry : &launch_->edge_entry;
  lay_out(size, entry_->threads_per_fiber);
  for (std::uint32_t i = 0; i < bundles(); ++i) {
    mb::Bundle& bundle = bundles_[i];
    bundle.live = bundle.lanes;
    bundle.ready = bundle.meeting = bundle.at_barrier = 0;
    bundle.rounds = bundle.device_rounds = 0;
    bundle.diverged = false;
  }
  if (launch_->counter) start_counting(number);
  started_ = 0;
  stopped_.fill(0);
  start_bundle();
  if (launch_->checked) {
    poison_arena();
    memory_check_->start_group(group_, number);
    if (shadow_ != nullptr) shadow_->start_group(launch_->arena_bytes);
  }
}

void GroupRunner::start_counting(std::uint64_t number) {
  counts_.start_group(number, group_.threads);
  for (std::uint32_t i = 0; i < group_.fibers; ++i) {
    stacks_->fiber(i)->executions = counts_.of_thread(i);
  }
}

void GroupRunner::start_bundle() {
  mb::Bundle& bundle = bundles_[started_];
  const std::uint32_t first = started_ * mb::simd_width;
  const std::uint32_t lanes = std::min(group_.fibers - first, mb::simd_width);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    bundle.stack_pointer[lane] = fresh_stack(stacks_->fiber(first + lane));
    __builtin_prefetch(bundle.stack_pointer[lane], 1);
    __builtin_prefetch(stacks_->fiber(first + lane));
  }
  bundle.ready = bundle.lanes;
  ++started_;
}

}  // namespace metalbench::cpu
