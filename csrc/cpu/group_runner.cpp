#include "cpu/group_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/switch.h"

namespace metalbench::cpu {
namespace {

constexpr std::uint32_t arena_capacity = 32 * 1024;
constexpr std::uint32_t arena_padding = 256;

// Initial byte of threadgroup memory: a large number or NaN in every type, different from the
// previous one.
int poison(std::uint32_t count) {
  constexpr std::uint32_t least = 0x45;
  constexpr std::uint32_t sign = 0x80;
  return static_cast<int>((least + count % (sign - least)) | (count % 2 == 0 ? 0 : sign));
}

void* first_stack(const mb::Bundle& bundle) {
  return bundle.stack_pointer[std::countr_zero(bundle.ready)];
}

// Return whether a waiting lane continues before another: it is in an earlier iteration of a common
// loop, or its call site precedes the other's in the code.
bool is_behind(const mb::Bundle& bundle, std::uint32_t lane, std::uint32_t other) {
  const mb::u32* one = bundle.turns[lane];
  const mb::u32* two = bundle.turns[other];
  if (one != nullptr && two != nullptr) {
    for (; *one == *two && *one != mb::no_loop; one += 2, two += 2) {
      if (one[1] != two[1]) return one[1] < two[1];
    }
  }
  return bundle.site[lane] < bundle.site[other];
}

bool are_together(const mb::Bundle& bundle, std::uint32_t lane, std::uint32_t other) {
  return !is_behind(bundle, lane, other) && !is_behind(bundle, other, lane);
}

// All live lanes wait. Lanes at one site in one iteration continue together. If there are several
// sites, the first continues, so that its lanes reach those that wait after the branch or loop.
void release_meeting(mb::Bundle& bundle) {
  std::uint32_t mask = bundle.meeting;
  auto chosen = static_cast<std::uint32_t>(std::countr_zero(mask));
  if (bundle.diverged) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (is_behind(bundle, lane, chosen)) chosen = lane;
    }
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (!are_together(bundle, lane, chosen)) mask &= ~(1u << lane);
    }
  }
  const mb::Combine combine = bundle.combine[chosen];
  if (combine != nullptr) {
    combine(bundle.operand, mask);
  } else if ((reinterpret_cast<mb::uptr>(bundle.operand[chosen]) & mb::mem_device) != 0) {
    ++bundle.device_rounds;
  }
  bundle.meeting &= ~mask;
  bundle.ready = mask;
  if (bundle.meeting == 0) {
    bundle.diverged = false;
  } else {
    const auto next = static_cast<std::uint32_t>(std::countr_zero(bundle.meeting));
    bundle.meeting_site = bundle.site[next];
    bundle.meeting_turns = bundle.turns[next];
    bundle.diverged = true;
  }
  ++bundle.rounds;
}

}  // namespace

const mb::Runtime GroupRunner::runtime = {
    &GroupRunner::next_stack, &GroupRunner::yield,     &GroupRunner::access,
    &GroupRunner::fail,       &GroupRunner::fence,     &GroupRunner::fence_texels,
    &GroupRunner::misaligned, &GroupRunner::undefined, &GroupRunner::moved,
    &GroupRunner::metadata,   &GroupRunner::born,      &GroupRunner::copied,
    &GroupRunner::count,
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
  const std::uint32_t needed = launch.use_span ? 1 : launch.fibers_per_group;
  if (needed > fibers_) {
    shadow_.reset();
    stacks_.reset();
    stacks_ = std::make_unique<Stacks>(needed);
    fibers_ = needed;
    laid_out_ = {};
  }
  if (launch.module->has_shadow() && shadow_ == nullptr) {
    shadow_ = std::make_unique<PrivateShadow>(*stacks_, fibers_, group_.arena, arena_capacity);
    laid_out_ = {};
  }
  launch_ = &launch;
  group_.launch = &launch.shared;
  if (!is_new_) return;
  is_new_ = false;
  checked_ = nullptr;
  poison_arena();
  if (shadow_ != nullptr) shadow_->begin();
  if (launch.counter) counts_.begin(*launch.counter);
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
  lay_out({1, 1, 1}, 1);
  span_first_ = first;
  span_count_ = count;
  prepare_stack(stacks_->fiber(0), &GroupRunner::span_main);
  laid_out_ = {};  // no thread uses this stack now
  return enter(fresh_stack(stacks_->fiber(0)));
}

GroupRunner::Progress GroupRunner::run_group(const Launch& launch, std::uint64_t number) {
  prepare(launch);
  start_group(number);
  return enter(bundles_[0].stack_pointer[0]);
}

GroupRunner::Progress GroupRunner::resume() { return enter(waiting_stack_); }

void GroupRunner::clear_fault() {
  if (!fault_) return;
  stacks_->forget_frames();
  shadow_.reset();
  laid_out_ = {};
  fault_ = {};
}

GroupRunner::Progress GroupRunner::enter(void* stack) {
  idle_yields_ = 0;
  waiting_stack_ = nullptr;
  mb_switch(&own_stack_, stack);
  if (fault_) return Progress::faulty;
  if (waiting_stack_ != nullptr) return Progress::waiting;
  if (launch_->checked && !memory_check_->settles(fault_) && !note()) return Progress::faulty;
  if (launch_->counter) counts_.end_group(arena());
  return Progress::done;
}

void GroupRunner::fiber_main() {
  mb::Fiber* fiber = mb::current();
  GroupRunner& self = of(fiber);
  self.entry_->function(self.group_.launch, &self.group_, fiber);
  if (self.shadow_ != nullptr) self.check_written(fiber);
  mb::prefetch_stack(fiber->bundle, fiber->lane);
  self.leave(fiber);
}

void GroupRunner::leave(mb::Fiber* fiber) {
  mb::Bundle* bundle = fiber->bundle;
  const std::uint32_t others = ~(1u << fiber->lane);
  bundle->live &= others;
  bundle->ready &= others;
  if (bundle->live == 0 && launch_->counter) counts_.fold(bundle->index, arena());
  const mb::Bundle* following = next_bundle(bundle);
  void* abandoned = nullptr;
  mb_switch(&abandoned, following != nullptr ? first_stack(*following) : own_stack_);
  __builtin_unreachable();
}

void GroupRunner::span_main() {
  GroupRunner& self = of(mb::current());
  self.launch_->span_entry(self.group_.launch, &self.group_, self.span_first_, self.span_count_);
  void* abandoned = nullptr;
  mb_switch(&abandoned, self.own_stack_);
  __builtin_unreachable();
}

// Return the bundle to run after a fiber of this one has blocked or returned; null if all have
// returned. A bundle runs as far as possible before the next one: its stacks stay in the cache.
mb::Bundle* GroupRunner::next_bundle(mb::Bundle* bundle) {
  idle_yields_ = 0;
  if (bundle->ready == 0 && bundle->meeting != 0) release_meeting(*bundle);
  if (bundle->ready != 0) return bundle;
  mb::Bundle* other = next_ready(bundle->index);
  return other != nullptr ? other : release_barrier();
}

// Return the nearest other bundle with ready lanes. It may precede this one, because fibers that
// yield leave ready lanes there.
mb::Bundle* GroupRunner::next_ready(std::uint32_t index) {
  for (std::uint32_t i = index + 1; i < bundles(); ++i) {
    if (i == started_) start_bundle();
    if (bundles_[i].ready != 0) return &bundles_[i];
  }
  for (std::uint32_t i = 0; i < index; ++i) {
    if (bundles_[i].ready != 0) return &bundles_[i];
  }
  return nullptr;
}

// All fibers of the group wait at a barrier or have returned.
mb::Bundle* GroupRunner::release_barrier() {
  if (launch_->checked) check_barrier();
  if (launch_->counter) counts_.fold_all(arena());
  mb::Bundle* first = nullptr;
  for (std::uint32_t i = bundles(); i-- > 0;) {
    mb::Bundle& bundle = bundles_[i];
    bundle.ready = bundle.at_barrier;
    bundle.at_barrier = 0;
    if (bundle.ready != 0) first = &bundle;
  }
  return first;
}

void* GroupRunner::next_stack(mb::Fiber* fiber) {
  mb::Bundle* bundle = fiber->bundle;
  const mb::Bundle* following = of(fiber).next_bundle(bundle);
  // The last fiber to arrive need not switch.
  if (following == bundle && (bundle->ready >> fiber->lane & 1) != 0) return nullptr;
  return first_stack(*following);
}

// For loops that wait for another thread: let all others of the group run first. If all ready
// threads have run twice and only yielded, the group itself yields.
void GroupRunner::yield(mb::Fiber* fiber) {
  GroupRunner& self = of(fiber);
  mb::Bundle* bundle = fiber->bundle;
  if (++self.idle_yields_ > 2 * self.group_.fibers) {
    mb_switch(&self.waiting_stack_, self.own_stack_);
    return;
  }
  const std::uint32_t later = bundle->ready & ~mask_of_first(fiber->lane + 1);
  auto lane = static_cast<std::uint32_t>(std::countr_zero(later));
  mb::Bundle* following = bundle;
  if (later == 0) {
    mb::Bundle* other = self.next_ready(bundle->index);
    if (other != nullptr) following = other;
    lane = static_cast<std::uint32_t>(std::countr_zero(following->ready));
  }
  if (following == bundle && lane == fiber->lane) return;
  mb_switch(&bundle->stack_pointer[fiber->lane], following->stack_pointer[lane]);
}

}  // namespace metalbench::cpu
