#include "cpu/group_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/switch.h"

namespace metalbench::cpu {
namespace {

constexpr std::uint32_t arena_capacity = 32 * 1024;
constexpr std::uint32_t arena_padding = 256;

// What threadgroup memory starts out as: large, or no number, in every type, and not what it was
// the time before.
int poison(std::uint32_t turn) {
  constexpr std::uint32_t least = 0x45;
  constexpr std::uint32_t sign = 0x80;
  return static_cast<int>((least + turn % (sign - least)) | (turn % 2 == 0 ? 0 : sign));
}

std::uint32_t lane_mask(std::uint32_t lanes) {
  return lanes >= mb::simd_width ? ~0u : (1u << lanes) - 1;
}

void* first_stack(const mb::Simdgroup& simdgroup) {
  return simdgroup.stack_pointer[std::countr_zero(simdgroup.ready)];
}

// All live lanes wait. Lanes at one site go on together; where there are several sites, the first
// in the code goes first: the others then catch up with those that wait behind the branch or loop.
void release_meeting(mb::Simdgroup& simdgroup) {
  std::uint32_t mask = simdgroup.meeting;
  auto chosen = static_cast<std::uint32_t>(std::countr_zero(mask));
  if (simdgroup.diverged) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (simdgroup.site[lane] < simdgroup.site[chosen]) chosen = lane;
    }
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (simdgroup.site[lane] != simdgroup.site[chosen]) mask &= ~(1u << lane);
    }
  }
  const mb::Combine combine = simdgroup.combine[chosen];
  if (combine != nullptr) {
    combine(simdgroup.operand, mask);
  } else if ((reinterpret_cast<mb::uptr>(simdgroup.operand[chosen]) & mb::mem_device) != 0) {
    ++simdgroup.device_rounds;
  }
  simdgroup.meeting &= ~mask;
  simdgroup.ready = mask;
  if (simdgroup.meeting == 0) {
    simdgroup.diverged = false;
  } else {
    simdgroup.meeting_site = simdgroup.site[std::countr_zero(simdgroup.meeting)];
    simdgroup.diverged = true;
  }
  ++simdgroup.rounds;
}

}  // namespace

const mb::Runtime GroupRunner::runtime = {
    &GroupRunner::next_stack, &GroupRunner::yield, &GroupRunner::access,
    &GroupRunner::fail,       &GroupRunner::fence, &GroupRunner::misaligned,
};

GroupRunner::GroupRunner()
    : arena_storage_(std::make_unique<std::byte[]>(arena_capacity + arena_padding)) {
  group_.runtime = &runtime;
  group_.runner = this;
  const mb::uptr address = (reinterpret_cast<mb::uptr>(arena_storage_.get()) + 127) / 128 * 128;
  group_.arena = reinterpret_cast<mb::u8*>(address);
  std::memset(group_.arena, poison(0), arena_capacity);
}

void GroupRunner::poison_arena() {
  std::memset(group_.arena, poison(++poisons_), launch_->arena_bytes);
}

void GroupRunner::prepare(const Launch& launch) {
  const std::uint32_t needed = launch.use_span ? 1 : launch.threads_per_group;
  if (needed > fibers_) {
    stacks_.reset();
    stacks_ = std::make_unique<Stacks>(needed);
    fibers_ = needed;
    laid_out_ = {};
  }
  launch_ = &launch;
  group_.launch = &launch.shared;
  if (!is_new_) return;
  is_new_ = false;
  poison_arena();
  if (launch.checked) {
    if (memory_check_ == nullptr) {
      memory_check_ = std::make_unique<MemoryCheck>(group_.arena, arena_capacity);
    }
    memory_check_->begin(launch, run_);
  }
}

GroupRunner::Progress GroupRunner::run_span(const Launch& launch, std::uint64_t first,
                                            std::uint64_t count) {
  prepare(launch);
  lay_out({1, 1, 1});
  span_first_ = first;
  span_count_ = count;
  prepare_stack(stacks_->fiber(0), &GroupRunner::span_main);
  laid_out_ = {};  // its stack is no thread's now
  return enter(fresh_stack(stacks_->fiber(0)));
}

GroupRunner::Progress GroupRunner::run_group(const Launch& launch, std::uint64_t number) {
  prepare(launch);
  start_group(number);
  return enter(simdgroups_[0].stack_pointer[0]);
}

GroupRunner::Progress GroupRunner::resume() { return enter(waiting_stack_); }

void GroupRunner::clear_fault() {
  if (fault_) stacks_->forget_frames();
  fault_ = {};
}

GroupRunner::Progress GroupRunner::enter(void* stack) {
  idle_yields_ = 0;
  waiting_stack_ = nullptr;
  mb_switch(&own_stack_, stack);
  if (fault_) return Progress::faulty;
  if (waiting_stack_ == nullptr && launch_->checked && !memory_check_->ends_well(fault_)) {
    return Progress::faulty;
  }
  return waiting_stack_ != nullptr ? Progress::waiting : Progress::done;
}

// What does not change from group to group of the same size.
void GroupRunner::lay_out(mb::Dim3 size) {
  if (size.x == laid_out_.x && size.y == laid_out_.y && size.z == laid_out_.z) return;
  laid_out_ = size;
  group_.size = size;
  group_.threads = size.x * size.y * size.z;
  group_.simdgroups = (group_.threads + mb::simd_width - 1) / mb::simd_width;
  for (std::uint32_t i = 0; i < group_.simdgroups; ++i) {
    mb::Simdgroup& simdgroup = simdgroups_[i];
    simdgroup.group = &group_;
    simdgroup.index = i;
    simdgroup.lanes = lane_mask(group_.threads - i * mb::simd_width);
  }
  mb::Dim3 position{0, 0, 0};
  for (std::uint32_t i = 0; i < group_.threads; ++i) {
    mb::Fiber* fiber = stacks_->fiber(i);
    prepare_stack(fiber, &GroupRunner::fiber_main);
    fiber->simdgroup = &simdgroups_[i / mb::simd_width];
    fiber->lane = i % mb::simd_width;
    fiber->index = i;
    fiber->reads = 0;
    fiber->position = position;
    if (++position.x < size.x) continue;
    position.x = 0;
    if (++position.y < size.y) continue;
    position.y = 0;
    ++position.z;
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
  lay_out({extent(grid.x, x, full.x), extent(grid.y, y, full.y), extent(grid.z, z, full.z)});
  for (std::uint32_t i = 0; i < group_.simdgroups; ++i) {
    mb::Simdgroup& simdgroup = simdgroups_[i];
    simdgroup.live = simdgroup.lanes;
    simdgroup.ready = simdgroup.meeting = simdgroup.at_barrier = 0;
    simdgroup.rounds = simdgroup.device_rounds = 0;
    simdgroup.diverged = false;
  }
  started_ = 0;
  start_simdgroup();
  if (launch_->checked) {
    poison_arena();
    memory_check_->start_group(group_, number);
  }
}

void GroupRunner::start_simdgroup() {
  mb::Simdgroup& simdgroup = simdgroups_[started_];
  const std::uint32_t first = started_ * mb::simd_width;
  const std::uint32_t lanes = std::min(group_.threads - first, mb::simd_width);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    simdgroup.stack_pointer[lane] = fresh_stack(stacks_->fiber(first + lane));
    __builtin_prefetch(simdgroup.stack_pointer[lane], 1);
    __builtin_prefetch(stacks_->fiber(first + lane));
  }
  simdgroup.ready = simdgroup.lanes;
  ++started_;
}

void GroupRunner::fiber_main() {
  mb::Fiber* fiber = mb::current();
  GroupRunner& self = of(fiber);
  self.launch_->thread_entry(self.group_.launch, &self.group_, fiber);
  mb::Simdgroup* simdgroup = fiber->simdgroup;
  mb::prefetch_stack(simdgroup, fiber->lane);
  const std::uint32_t others = ~(1u << fiber->lane);
  simdgroup->live &= others;
  simdgroup->ready &= others;
  const mb::Simdgroup* following = self.next_simdgroup(simdgroup);
  void* abandoned = nullptr;
  mb_switch(&abandoned, following != nullptr ? first_stack(*following) : self.own_stack_);
  __builtin_unreachable();
}

void GroupRunner::span_main() {
  GroupRunner& self = of(mb::current());
  self.launch_->span_entry(self.group_.launch, &self.group_, self.span_first_, self.span_count_);
  void* abandoned = nullptr;
  mb_switch(&abandoned, self.own_stack_);
  __builtin_unreachable();
}

// Who runs after a thread of this simdgroup has blocked or returned; null when all have returned.
// A SIMD-group goes as far as it can before the next one starts: its stacks stay in the cache.
mb::Simdgroup* GroupRunner::next_simdgroup(mb::Simdgroup* simdgroup) {
  idle_yields_ = 0;
  if (simdgroup->ready == 0 && simdgroup->meeting != 0) release_meeting(*simdgroup);
  if (simdgroup->ready != 0) return simdgroup;
  mb::Simdgroup* other = next_ready(simdgroup->index);
  return other != nullptr ? other : release_barrier();
}

// The nearest other simdgroup with lanes that can run. It may lie before: threads that yield leave
// ready lanes behind them.
mb::Simdgroup* GroupRunner::next_ready(std::uint32_t index) {
  for (std::uint32_t i = index + 1; i < group_.simdgroups; ++i) {
    if (i == started_) start_simdgroup();
    if (simdgroups_[i].ready != 0) return &simdgroups_[i];
  }
  for (std::uint32_t i = 0; i < index; ++i) {
    if (simdgroups_[i].ready != 0) return &simdgroups_[i];
  }
  return nullptr;
}

// Every thread of the group waits at a barrier or has returned.
mb::Simdgroup* GroupRunner::release_barrier() {
  if (launch_->checked) check_barrier();
  mb::Simdgroup* first = nullptr;
  for (std::uint32_t i = group_.simdgroups; i-- > 0;) {
    mb::Simdgroup& simdgroup = simdgroups_[i];
    simdgroup.ready = simdgroup.at_barrier;
    simdgroup.at_barrier = 0;
    if (simdgroup.ready != 0) first = &simdgroup;
  }
  return first;
}

void* GroupRunner::next_stack(mb::Fiber* fiber) {
  mb::Simdgroup* simdgroup = fiber->simdgroup;
  const mb::Simdgroup* following = of(fiber).next_simdgroup(simdgroup);
  // The one that came last need not switch at all.
  if (following == simdgroup && (simdgroup->ready >> fiber->lane & 1) != 0) return nullptr;
  return first_stack(*following);
}

// For loops that wait for another thread: lets every other one of the group run first. When all
// that can run have had their turn twice and still do nothing but yield, the group itself yields.
void GroupRunner::yield(mb::Fiber* fiber) {
  GroupRunner& self = of(fiber);
  mb::Simdgroup* simdgroup = fiber->simdgroup;
  if (++self.idle_yields_ > 2 * self.group_.threads) {
    mb_switch(&self.waiting_stack_, self.own_stack_);
    return;
  }
  const std::uint32_t later = simdgroup->ready & ~lane_mask(fiber->lane + 1);
  auto lane = static_cast<std::uint32_t>(std::countr_zero(later));
  mb::Simdgroup* following = simdgroup;
  if (later == 0) {
    mb::Simdgroup* other = self.next_ready(simdgroup->index);
    if (other != nullptr) following = other;
    lane = static_cast<std::uint32_t>(std::countr_zero(following->ready));
  }
  if (following == simdgroup && lane == fiber->lane) return;
  mb_switch(&simdgroup->stack_pointer[fiber->lane], following->stack_pointer[lane]);
}

}  // namespace metalbench::cpu
