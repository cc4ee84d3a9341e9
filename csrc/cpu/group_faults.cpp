// Early ends of a threadgroup: by a check, a signal, or from outside.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cpu/group_runner.h"
#include "cpu/red_zones.h"
#include "cpu/switch.h"
#include "cpu/texel_check.h"
#include "cpu/undefined.h"

namespace metalbench::cpu {
namespace {

const void* site_of(const mb::Fiber* fiber) { return fiber->bundle->site[fiber->lane]; }

}  // namespace

// All threads have blocked or returned, and some wait at a barrier: it must be the same one.
void GroupRunner::check_barrier() {
  std::uint32_t waiting = 0;
  mb::uptr mem_flags = ~mb::uptr{0};
  for (std::uint32_t i = 0; i < bundles(); ++i) waiting |= bundles_[i].at_barrier;
  if (waiting == 0) return;
  const mb::Fiber* first = nullptr;
  for (std::uint32_t i = 0; i < group_.threads; ++i) {
    const mb::Fiber* fiber = stacks_->fiber(i);
    const std::uint32_t bit = 1u << fiber->lane;
    if ((fiber->bundle->at_barrier & bit) != 0) {
      if (first == nullptr) first = fiber;
      mem_flags &= reinterpret_cast<mb::uptr>(fiber->bundle->operand[fiber->lane]) |
                   memory_check_->fences_of(fiber->index);
      if (site_of(fiber) == site_of(first)) continue;
      fault_.kind = Fault::Kind::reported;
      fault_.rule = Rule::barrier;
      std::snprintf(fault_.text.data(), fault_.text.size(),
                    "threadgroup_barrier: threads %u and %u of the threadgroup wait at different "
                    "barriers; every thread must reach the same one",
                    first->index, fiber->index);
      fault_.born = site_of(first);
      stop(fiber, site_of(fiber));
    }
  }
  for (std::uint32_t i = 0; i < group_.threads; ++i) {
    const mb::Fiber* fiber = stacks_->fiber(i);
    const std::uint32_t bit = 1u << fiber->lane;
    if (((fiber->bundle->live | stopped_[fiber->bundle->index]) & bit) != 0) continue;
    fault_.kind = Fault::Kind::reported;
    fault_.rule = Rule::barrier;
    std::snprintf(fault_.text.data(), fault_.text.size(),
                  "threadgroup_barrier: thread %u waits, but thread %u of the threadgroup has "
                  "returned without reaching it; every thread must reach the barrier",
                  first->index, fiber->index);
    stop(first, site_of(first));
  }
  memory_check_->barrier(static_cast<std::uint32_t>(mem_flags));
}

void GroupRunner::access(mb::Fiber* fiber, const volatile void* address, mb::u64 bytes,
                         mb::AccessKind kind, const void* pc) {
  GroupRunner& self = of(fiber);
  self.checked_ = pc;
  const void* frame = __builtin_frame_address(0);
  if (self.stacks_->room_below(frame) < mb::runtime_bytes) {
    self.fault_.kind = Fault::Kind::stack_overflow;
    self.place(fiber, pc);
    self.trace(frame);
    if (self.note()) self.stop_thread(fiber);
    self.stop();
  }
  const auto* begin = const_cast<const std::byte*>(static_cast<const volatile std::byte*>(address));
  if (self.stacks_->contains(begin)) {
    if (self.shadow_ != nullptr) self.check_private(fiber, {begin, bytes, kind, fiber, pc});
    return;
  }
  if (self.shadow_ != nullptr) {
    self.check_written(fiber);
    if (self.shadow_->contains(begin)) return;
  }
  // Kernels read the runner's own structures to find threadgroup variables.
  const auto* own = reinterpret_cast<const std::byte*>(&self);
  if (begin >= own && begin < own + sizeof self) return;
  // In builds with shadow memory, copies from it are reported as well.
  if (self.launch_->describes(begin)) return;
  MemoryCheck& check = *self.memory_check_;
  if (self.shadow_ != nullptr && kind != mb::AccessKind::read && kind != mb::AccessKind::copy) {
    self.shadow_->given(begin, bytes);
  }
  if (!check.settles(self.fault_) && !self.note()) self.stop();
  const MemoryAccess access{begin, bytes, kind, fiber, pc};
  if (check.allows(access, self.fault_)) return;
  self.trace(frame);
  if (!self.note()) self.stop();
  if (!check.is_harmless(access)) self.stop_thread(fiber);
}

void GroupRunner::fence(mb::Fiber* fiber, mb::u32 mem_flags) {
  of(fiber).memory_check_->fence(mem_flags, fiber->index);
}

void GroupRunner::fence_texels(mb::Fiber* fiber, const mb::Texture* texture) {
  of(fiber).memory_check_->fence_texels(texture, fiber->index);
}

void GroupRunner::misaligned(mb::Fiber* fiber, const void* address, mb::u64 alignment, mb::Use use,
                             const void* pc) {
  GroupRunner& self = of(fiber);
  const bool is_private = self.stacks_->contains(address);
  const Misaligned what{static_cast<const std::byte*>(address), alignment, use, is_private};
  if (!self.memory_check_->is_known(what, self.fault_)) return;
  self.fault_.kind = Fault::Kind::reported;
  self.place(fiber, pc);
  self.trace(__builtin_frame_address(0));
  if (!self.note()) self.stop();
  // The processor also requires the alignment of vector registers, such as x86's movaps.
  if (alignment >= 16) self.stop_thread(fiber);
}

void GroupRunner::undefined(mb::Fiber* fiber, const mb::Undefined* what) {
  GroupRunner& self = of(fiber);
  const bool is_texel = what->finding == mb::Finding::texel;
  if (what->finding == mb::Finding::member && !self.is_of_one(*what)) return;
  // Reported only by runs that continue after faults.
  if (is_texel && self.launch_->findings == nullptr) return;
  self.fault_.kind = Fault::Kind::reported;
  self.fault_.rule = rule_of(what->finding);
  if (is_texel) {
    const auto* texel = reinterpret_cast<const mb::OutsideTexel*>(what->value[0]);
    describe(*texel, self.launch_->ranges, self.fault_.text);
  } else {
    describe(*what, self.fault_.text);
  }
  if (what->finding == mb::Finding::uninitialised) {
    self.blame(self.shadow_->origin(static_cast<mb::u32>(what->value[0])));
  }
  self.place(fiber, self.place_of(what->pc));
  self.trace(__builtin_frame_address(0));
  if (!self.note()) self.stop();
}

// An access that leaves the whole variable is reported by another check.
bool GroupRunner::is_of_one(const mb::Undefined& member) const {
  const auto* low = reinterpret_cast<const std::byte*>(member.value[0]);
  const auto* at = low + static_cast<std::ptrdiff_t>(member.value[1]);
  if (!stacks_->contains(low)) return memory_check_->is_of_one(low, at);
  std::array<char, 512> text;
  return shadow_ == nullptr || allows_private(mb::fiber_of(member.value[0]), at, 1, "", text);
}

void GroupRunner::moved(mb::Fiber* fiber, const void* from, const void* to, const void* pc) {
  GroupRunner& self = of(fiber);
  const auto* reached = static_cast<const std::byte*>(to);
  if (self.memory_check_->stays(static_cast<const std::byte*>(from), reached, self.fault_)) return;
  self.fault_.kind = Fault::Kind::reported;
  self.place(fiber, pc);
  self.trace(__builtin_frame_address(0));
  if (!self.note()) self.stop();
}

void GroupRunner::fail(mb::Fiber* fiber, const char* what, const void* pc) {
  GroupRunner& self = of(fiber);
  const std::string_view text = what;
  const bool is_of_lanes = text.starts_with("SIMD-group");
  // The lane may not use the undefined value, so only runs that continue after faults report it.
  if (is_of_lanes && self.launch_->findings == nullptr) return;
  self.fault_.kind = Fault::Kind::reported;
  if (is_of_lanes) self.fault_.rule = Rule::simdgroup;
  if (text.starts_with("assert")) self.fault_.rule = Rule::assertion;
  if (text.starts_with("integer overflow")) self.fault_.rule = Rule::overflow;
  std::snprintf(self.fault_.text.data(), self.fault_.text.size(), "%s", what);
  self.place(fiber, pc);
  self.trace(__builtin_frame_address(0));
  if (!self.note()) self.stop();
}

void GroupRunner::place(const mb::Fiber* fiber, const void* pc) {
  fault_.pc = pc;
  fault_.has_thread = true;
  fault_.thread = fiber->position;
  fault_.threadgroup = group_.position;
}

// Checked builds have frame pointers: each frame begins with the previous frame's address and the
// return address. Frames of the runtime above the kernel's are skipped.
void GroupRunner::trace(const void* frame) {
  if (launch_->findings == nullptr) return;
  const Module& module = launch_->module_of(fault_.pc);
  bool is_below = false;
  std::size_t count = 0;
  while (count < fault_.callers.size() && stacks_->contains(frame) &&
         reinterpret_cast<mb::uptr>(frame) % sizeof(void*) == 0) {
    const auto* words = static_cast<const void* const*>(frame);
    if (is_below && module.contains(words[1])) fault_.callers[count++] = words[1];
    if (words[1] == fault_.pc) is_below = true;
    if (words[0] <= frame) return;
    frame = words[0];
  }
}

bool GroupRunner::note() {
  if (launch_->findings == nullptr) return false;
  launch_->findings->add(fault_, launch_->number);
  fault_ = {};
  return true;
}

void GroupRunner::stop(const mb::Fiber* fiber, const void* pc) {
  place(fiber, pc);
  stop();
}

void GroupRunner::stop_thread(mb::Fiber* fiber) {
  stopped_[fiber->bundle->index] |= 1u << fiber->lane;
  stacks_->forget_frames();
  if (shadow_ != nullptr) PrivateShadow::forget_zones(fiber, __builtin_frame_address(0));
  leave(fiber);
}

void GroupRunner::stop() {
  if (shadow_ != nullptr) shadow_->forget_all_zones();
  void* abandoned = nullptr;
  mb_switch(&abandoned, own_stack_);
  __builtin_unreachable();
}

Fault GroupRunner::stopped() const {
  Fault fault;
  if (checked_ == nullptr) return fault;
  fault.kind = Fault::Kind::stopped;
  fault.checked = checked_;
  fault.threadgroup = group_.position;
  return fault;
}

void* GroupRunner::abandon(Fault::Kind kind, const void* pc, const void* address,
                           const void* stack_pointer) {
  if (shadow_ != nullptr) shadow_->forget_all_zones();
  const bool first = !fault_;
  if (first) {
    fault_.kind = kind;
    fault_.pc = pc;
    fault_.checked = checked_;
    fault_.address = address;
    fault_.threadgroup = group_.position;
    // A plain loop does not identify its thread, and a vector does not identify its lane.
    if (!launch_->use_span) {
      const mb::Fiber* fiber = mb::fiber_of(reinterpret_cast<mb::uptr>(stack_pointer));
      fault_.has_thread = threads_per_fiber_ == 1;
      fault_.thread = fiber->position;
      fault_.has_simdgroup = !fault_.has_thread;
      fault_.simdgroup = fiber->index / mb::simd_width;
    }
  }
  return own_stack_;
}

}  // namespace metalbench::cpu
