// Messages of checked runs.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "cpu/memory_check.h"

namespace metalbench::cpu {
namespace {

// Maximum distance from a buffer at which an address is attributed to it.
constexpr std::ptrdiff_t neighbourhood = 16 * 1024;

// Offsets from a null pointer to a struct or an array: no memory is mapped below this address.
constexpr std::uintptr_t null_page = 64 * 1024;

using Words = std::array<char, 80>;

Words name_of(mb::Dim3 thread, mb::Dim3 group) {
  Words words;
  std::snprintf(words.data(), words.size(), "thread (%u, %u, %u) of threadgroup (%u, %u, %u)",
                thread.x, thread.y, thread.z, group.x, group.y, group.z);
  return words;
}

mb::Dim3 position_in(mb::Dim3 size, std::uint64_t index) {
  return {static_cast<mb::u32>(index % size.x), static_cast<mb::u32>(index / size.x % size.y),
          static_cast<mb::u32>(index / size.x / size.y)};
}

// Return the thread of the mark that is concurrent with `thread`: of another lane or, if several
// SIMD-groups are recorded, of another SIMD-group.
std::uint32_t other_thread(const Mark& mark, std::uint32_t thread) {
  const bool is_own = mark.by() == Mark::By::simdgroups
                          ? mark.simdgroup() == thread / mb::simd_width
                          : mark.by() == Mark::By::lanes && mark.thread() == thread;
  return is_own ? mark.other_thread() : mark.thread();
}

// Return the place of the earlier access if `thread` made it. Code of one module has the same upper
// half of addresses.
const void* other_place(const AccessConflict& conflict, const MemoryAccess& access,
                        std::uint32_t thread, const Module& module) {
  const bool is_last = conflict.mark.thread() == thread;
  const bool is_known =
      is_last || (conflict.mark.by() != Mark::By::thread && conflict.mark.other_thread() == thread);
  const std::uint32_t pc = conflict.pc[is_last ? 0 : 1];
  if (pc == 0 || !is_known) return nullptr;
  const auto own = reinterpret_cast<std::uintptr_t>(access.pc);
  const std::uintptr_t half = std::uintptr_t{1} << 32;
  const auto* place = reinterpret_cast<const void*>(own / half * half + pc);
  return module.contains(place) ? place : nullptr;
}

const char* verb_of(const AccessConflict& conflict) {
  switch (conflict.with) {
    case AccessConflict::With::read:
      return "a read";
    case AccessConflict::With::write:
      return "a write";
    case AccessConflict::With::atomic:
      break;
  }
  return "an atomic access";
}

}  // namespace

const Range* MemoryCheck::nearest(const std::byte* address) const {
  const Range* found = nullptr;
  std::ptrdiff_t least = neighbourhood;
  for (const Range& range : launch_->ranges) {
    const std::ptrdiff_t away = address < range.begin ? range.begin - address : address - range.end;
    if (away < least) {
      least = away;
      found = &range;
    }
  }
  return found;
}

// Report a buffer of the device, live or freed, that the dispatch does not bind.
bool MemoryCheck::report_unlisted(const MemoryAccess& access, Fault& fault) const {
  const auto found = launch_->storages->find(access.begin);
  if (!found || (!found->is_own && nearest(access.begin) != nullptr)) return false;
  for (const Range& range : launch_->ranges) {
    if (range.begin >= found->bytes.data() &&
        range.begin <= found->bytes.data() + found->bytes.size()) {
      return false;
    }
  }
  std::snprintf(fault.text.data(), fault.text.size(),
                "%s of %" PRIu64 " bytes of a buffer that %s: at byte %td of %zu; %s",
                access.verb(), access.bytes,
                found->is_freed ? "has been freed" : "the dispatch does not list",
                access.begin - found->bytes.data(), found->bytes.size(),
                found->is_freed ? "keep it as long as kernels use its address"
                                : "bind it, or name it in its `resources`");
  return true;
}

bool MemoryCheck::report_null(const MemoryAccess& access, Fault& fault) {
  const auto address = reinterpret_cast<std::uintptr_t>(access.begin);
  if (address >= null_page) return false;
  char on[40] = "";
  if (address != 0)
    std::snprintf(on, sizeof on, ", %zu bytes on", static_cast<std::size_t>(address));
  std::snprintf(fault.text.data(), fault.text.size(),
                "%s of %" PRIu64 " bytes through a null pointer%s", access.verb(), access.bytes,
                on);
  return true;
}

void MemoryCheck::report_constant(const Range& range, const MemoryAccess& access,
                                  Fault& fault) const {
  fault.rule = range.is_writable ? Rule::write_to_input : Rule::write_to_constant;
  fault.memory = range.begin;
  std::snprintf(fault.text.data(), fault.text.size(),
                "write of %" PRIu64 " bytes of `%s`, which %s: at byte %td", access.bytes,
                range.name.c_str(),
                range.is_writable ? "is an input" : "the kernel declares to be constant",
                access.begin - range.begin);
}

void MemoryCheck::report_stray(const MemoryAccess& access, Fault& fault) const {
  fault.rule = Rule::wild_pointer;
  if (report_null(access, fault) || report_unlisted(access, fault)) return;
  const Range* range = nearest(access.begin);
  char* text = fault.text.data();
  const std::size_t size = fault.text.size();
  if (range == nullptr) {
    std::snprintf(text, size, "%s of %" PRIu64 " bytes outside of every buffer", access.verb(),
                  access.bytes);
    return;
  }
  fault.rule = Rule::out_of_bounds;
  fault.memory = range->begin;
  if (access.begin < range->begin) {
    std::snprintf(text, size, "%s of %" PRIu64 " bytes that begins %td bytes before `%s`",
                  access.verb(), access.bytes, range->begin - access.begin, range->name.c_str());
  } else {
    std::snprintf(text, size, "%s of %" PRIu64 " bytes past the end of `%s`: at byte %td of %td",
                  access.verb(), access.bytes, range->name.c_str(), access.begin - range->begin,
                  range->end - range->begin);
  }
}

// A group at the edge of the grid may be smaller than the others.
std::string MemoryCheck::name_of(std::uint32_t segment, std::uint32_t thread) const {
  const mb::Launch& shared = launch_->shared;
  const std::uint64_t number = device_clock_.group_of(segment);
  const mb::Dim3 group = position_in(shared.threadgroups_per_grid, number);
  const mb::Dim3 full = shared.threads_per_threadgroup;
  const mb::Dim3 grid = shared.threads_per_grid;
  const mb::Dim3 size = {std::min(full.x, grid.x - group.x * full.x),
                         std::min(full.y, grid.y - group.y * full.y),
                         std::min(full.z, grid.z - group.z * full.z)};
  return cpu::name_of(position_in(size, thread), group).data();
}

// If memory is bound twice, attribute writes to the writable argument.
const Range& MemoryCheck::range_of(const MemoryAccess& access) const {
  const auto& ranges = launch_->ranges;
  const Range* found = &ranges[last_range_];
  for (const Range& range : ranges) {
    const bool holds = range.begin <= access.begin && access.begin + access.bytes <= range.end;
    if (holds && access.writes() && range.is_writable && !found->is_writable) found = &range;
  }
  return *found;
}

void MemoryCheck::report_race(const MemoryAccess& access, const AccessConflict& conflict,
                              Fault& fault) const {
  const Range& range = range_of(access);
  const Mark& mark = conflict.mark;
  std::uint32_t segment = mark.segment();
  std::uint32_t thread = other_thread(mark, access.thread->index);
  if (mark.by() == Mark::By::threadgroups && device_clock_.is_own(segment)) {
    segment = mark.other_segment();
    thread = mark.other_thread();
  }
  const bool is_own = device_clock_.is_own(segment);
  std::string other = "a thread of another threadgroup";
  const bool is_certain = mark.by() != Mark::By::threadgroups || !is_own;
  if (is_certain && device_clock_.is_of_this_launch(segment)) other = name_of(segment, thread);
  const char* missing = "only atomics with fences order threadgroups of one dispatch";
  if (mark.by() != Mark::By::threadgroups && is_own) {
    missing = "a barrier with mem_flags::mem_device is missing in between";
  }
  fault.rule = Rule::race;
  fault.memory = range.begin;
  std::snprintf(fault.text.data(), fault.text.size(),
                "race in device memory: %s%s of %" PRIu64
                " bytes of `%s` at byte %td by %s after %s by "
                "%s; %s",
                access.atomic() ? "atomic " : "", access.verb(), access.bytes, range.name.c_str(),
                conflict.at - range.begin,
                cpu::name_of(access.thread->position, group_->position).data(), verb_of(conflict),
                other.c_str(), missing);
  fault.names_thread = true;
  // In another dispatch it may be other code.
  if (is_certain && device_clock_.is_of_this_launch(segment))
    fault.born = other_place(conflict, access, thread, launch_->module_of(access.pc));
}

void MemoryCheck::report_arena_race(const MemoryAccess& access, const AccessConflict& conflict,
                                    Fault& fault) const {
  const std::uint32_t other = other_thread(conflict.mark, access.thread->index);
  const mb::Dim3 thread = position_in(group_->size, other);
  fault.rule = Rule::race;
  std::snprintf(
      fault.text.data(), fault.text.size(),
      "race in threadgroup memory: %s%s of %" PRIu64
      " bytes at byte %td by %s after %s by "
      "thread (%u, %u, %u); a barrier with mem_flags::mem_threadgroup is missing in between",
      access.atomic() ? "atomic " : "", access.verb(), access.bytes, conflict.at - arena_,
      cpu::name_of(access.thread->position, group_->position).data(), verb_of(conflict), thread.x,
      thread.y, thread.z);
  fault.names_thread = true;
  fault.born = other_place(conflict, access, other, launch_->module_of(access.pc));
}

bool MemoryCheck::is_known(const Misaligned& what, Fault& fault) const {
  char place[160] = "private memory";
  const auto range = std::ranges::find_if(launch_->ranges, [&](const Range& candidate) {
    return what.begin >= candidate.begin && what.begin < candidate.end;
  });
  if (range != launch_->ranges.end()) {
    std::snprintf(place, sizeof place, "`%s` at byte %td", range->name.c_str(),
                  what.begin - range->begin);
  } else if (what.begin >= arena_ && what.begin < arena_ + launch_->arena_bytes) {
    std::snprintf(place, sizeof place, "threadgroup memory at byte %td", what.begin - arena_);
  } else if (!what.is_private) {
    return false;
  }
  fault.rule = Rule::misaligned;
  const std::uint64_t excess = reinterpret_cast<std::uintptr_t>(what.begin) % what.alignment;
  std::snprintf(fault.text.data(), fault.text.size(),
                "misaligned %s of %s: expected an address that is a multiple of %" PRIu64
                ", got one that is %" PRIu64 " more",
                what.noun(), place, what.alignment, excess);
  return true;
}

}  // namespace metalbench::cpu
