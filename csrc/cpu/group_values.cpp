// Reports of uninitialised values and of private memory accesses.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cpu/group_runner.h"
#include "cpu/red_zones.h"

namespace metalbench::cpu {
namespace {

// Return a variable's name without clang's suffix for inlined functions.
std::string plain(const char* name) {
  const std::string text = name;
  return text.substr(0, text.find('.'));
}

}  // namespace

mb::Metadata GroupRunner::metadata(const mb::Fiber* fiber, const void* address, mb::u64 bytes,
                                   bool is_store, const void* pc) {
  GroupRunner& self = of(fiber);
  self.check_written(fiber);
  return self.shadow_->metadata(fiber, address, bytes, is_store, pc);
}

mb::u32 GroupRunner::born(const mb::Fiber* fiber, const char* name, const void* pc) {
  return of(fiber).shadow_->born(name, pc);
}

void GroupRunner::copied(const mb::Fiber* fiber, const void* to, const void* from, mb::u64 bytes,
                         const void* pc) {
  GroupRunner& self = of(fiber);
  self.check_written(fiber);
  self.shadow_->copy(fiber, to, from, bytes, pc, self.memory_check_->unwritten(from, bytes));
}

void GroupRunner::check_private(mb::Fiber* fiber, const MemoryAccess& access) {
  if (allows_private(access.thread, access.begin, access.bytes, access.verb(), fault_.text)) return;
  fault_.kind = Fault::Kind::reported;
  fault_.rule = Rule::out_of_bounds;
  place(fiber, access.pc);
  trace(__builtin_frame_address(0));
  if (!note()) stop();
  // The write could overwrite a return address.
  if (access.writes()) stop_thread(fiber);
}

void GroupRunner::check_written(const mb::Fiber* fiber) {
  const auto written = shadow_->take_written(fiber);
  if (!written) return;
  fault_.kind = Fault::Kind::reported;
  fault_.rule = Rule::uninitialised;
  const auto range = std::ranges::find_if(launch_->ranges, [&](const Range& candidate) {
    return written->at >= candidate.begin && written->at < candidate.end;
  });
  if (range == launch_->ranges.end()) {
    std::snprintf(fault_.text.data(), fault_.text.size(), "an uninitialised value is written");
  } else {
    std::snprintf(fault_.text.data(), fault_.text.size(),
                  "an uninitialised value is written to `%s` at byte %td", range->name.c_str(),
                  written->at - range->begin);
    fault_.memory = range->begin;
  }
  blame(written->origin);
  place(fiber, place_of(written->pc));
  trace(__builtin_frame_address(0));
  if (!note()) stop();
}

void GroupRunner::blame(const PrivateShadow::Origin& origin) {
  if (origin.pc == nullptr) return;
  fault_.born = origin.pc;
  if (origin.name == nullptr) {
    fault_.rule = Rule::simdgroup;
    std::snprintf(fault_.text.data(), fault_.text.size(),
                  "SIMD-group function: reads the value of an inactive lane, and the result is "
                  "used");
    return;
  }
  std::snprintf(fault_.variable.data(), fault_.variable.size(), "%s", plain(origin.name).c_str());
}

// For the result of a SIMD-group function, the fault is the call of that function.
const void* GroupRunner::place_of(const void* pc) {
  return fault_.rule == Rule::simdgroup ? std::exchange(fault_.born, nullptr) : pc;
}

}  // namespace metalbench::cpu
