#include "cpu/memory_check.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace metalbench::cpu {
namespace {

constexpr std::uintptr_t page = 4096;
// Maximum distance before threadgroup memory at which an address is attributed to it.
constexpr std::size_t before_arena = 4096;

const std::byte* page_of(const std::byte* address) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(address) / page *
                                            page);
}

}  // namespace

MemoryCheck::MemoryCheck(const mb::u8* arena, std::uint32_t arena_capacity)
    : arena_(reinterpret_cast<const std::byte*>(arena)),
      arena_region_(arena_, arena_ + arena_capacity, Region::largest_word, true),
      written_by_(arena_capacity) {}

void MemoryCheck::begin(const Launch& launch, std::uint64_t run) {
  last_range_ = 0;
  module_page_ = nullptr;
  launch_ = &launch;
  device_clock_.enter(launch.shadow->segments(), run);
}

void MemoryCheck::start_group(const mb::Group& group, std::uint64_t number) {
  group_ = &group;
  ++group_serial_;
  arena_clock_.advance();
  fenced_.fill(0);
  texel_fences_.start();
  undecided_.access.reset();
  device_clock_.start_group(number);
}

void MemoryCheck::barrier(std::uint32_t mem_flags) {
  fenced_.fill(0);
  if ((mem_flags & mb::mem_threadgroup) != 0) arena_clock_.advance();
  // Texels are in device memory.
  const bool is_device = (mem_flags & (mb::mem_device | mb::mem_texture)) != 0;
  if (is_device) texel_fences_.start();
  device_clock_.barrier(is_device);
}

void MemoryCheck::fence(std::uint32_t mem_flags, std::uint32_t thread) {
  fenced_[thread] |= mem_flags;
  const Fence fence{(mem_flags & mb::fence_acquires) != 0, (mem_flags & mb::fence_releases) != 0};
  if ((mem_flags & (mb::mem_device | mb::mem_texture)) != 0) {
    texel_fences_.fence(thread, nullptr);
    device_clock_.fence(thread, fence);
  }
  if ((mem_flags & mb::mem_threadgroup) != 0) arena_clock_.happens_before.fence(thread, fence);
}

// An atomic object in one kind of memory can be a flag for data in the other kind. In threadgroup
// memory it is not visible to other threadgroups.
void MemoryCheck::note_atomic(const MemoryAccess& access, bool is_device) {
  const std::uint32_t thread = access.thread->index;
  if (access.acquires()) {
    arena_clock_.happens_before.read(access.begin, thread);
    device_clock_.read_atomically(access.begin, thread, is_device);
  }
  if (access.writes()) {
    arena_clock_.happens_before.write(access.begin, thread);
    device_clock_.write_atomically(access.begin, thread, is_device);
  }
}

const Storage::Unwritten* MemoryCheck::unwritten(const void* address, std::uint64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(address);
  for (const Range& range : launch_->ranges) {
    if (begin < range.begin || begin + bytes > range.end || !range.buffer) continue;
    const Storage::Unwritten* marks = range.buffer->unwritten();
    return marks == nullptr ? nullptr : marks + (begin - range.begin);
  }
  return nullptr;
}

bool MemoryCheck::allows(const MemoryAccess& access, Fault& fault) {
  if (is_aligned(access, fault) && allows_now(access, fault)) return true;
  blame(access, fault);
  return false;
}

void MemoryCheck::blame(const MemoryAccess& access, Fault& fault) const {
  fault.kind = Fault::Kind::reported;
  fault.pc = access.pc;
  fault.has_thread = true;
  fault.thread = access.thread->position;
  fault.threadgroup = group_->position;
}

bool MemoryCheck::allows_conflict(const MemoryAccess& access, const AccessConflict& conflict,
                                  bool is_arena, Fault& fault) {
  if (conflict.is_write_after_write) {
    undecided_.access = access;
    undecided_.conflict = conflict;
    undecided_.is_arena = is_arena;
    undecided_.before.assign(conflict.at, conflict.end);
    return true;
  }
  is_arena ? report_arena_race(access, conflict, fault) : report_race(access, conflict, fault);
  return false;
}

bool MemoryCheck::is_settled(Fault& fault) {
  const MemoryAccess access = *std::exchange(undecided_.access, std::nullopt);
  if (std::equal(undecided_.before.begin(), undecided_.before.end(), undecided_.conflict.at)) {
    return !reports_same(access, fault);
  }
  undecided_.conflict.is_write_after_write = false;
  blame(access, fault);
  return allows_conflict(access, undecided_.conflict, undecided_.is_arena, fault);
}

// Reported only by runs that continue after faults.
bool MemoryCheck::reports_same(const MemoryAccess& access, Fault& fault) {
  if (launch_->findings == nullptr) return false;
  undecided_.conflict.is_write_after_write = false;
  blame(access, fault);
  (void)allows_conflict(access, undecided_.conflict, undecided_.is_arena, fault);
  fault.rule = Rule::same_value_race;
  // "race in device memory: ..."
  const std::string text = fault.text.data();
  std::snprintf(fault.text.data(), fault.text.size(), "writes of the same value%s",
                text.substr(text.find(" in ")).c_str());
  return true;
}

bool MemoryCheck::is_harmless(const MemoryAccess& access) const {
  const std::byte* end = access.begin + access.bytes;
  if (access.begin >= arena_ && end <= arena_ + written_by_.size()) return true;
  const auto holds = [&](const Range& range) {
    return access.begin >= range.begin && end <= range.end;
  };
  return std::ranges::any_of(launch_->ranges, holds) || launch_->storages->holds(access.begin, end);
}

// Clang checks the alignment of all other accesses.
bool MemoryCheck::is_aligned(const MemoryAccess& access, Fault& fault) const {
  if (!access.atomic() || reinterpret_cast<mb::uptr>(access.begin) % access.bytes == 0) return true;
  return !is_known({access.begin, access.bytes, access.use(), false}, fault);
}

bool MemoryCheck::allows_now(const MemoryAccess& access, Fault& fault) {
  const std::byte* begin = access.begin;
  const std::byte* end = begin + access.bytes;
  const std::vector<Range>& ranges = launch_->ranges;
  if (last_range_ < ranges.size() && begin >= ranges[last_range_].begin &&
      end <= ranges[last_range_].end) {
    return allows_range(ranges[last_range_], access, fault);
  }
  if (begin >= arena_ - before_arena && begin < arena_ + written_by_.size()) {
    return allows_arena(access, fault);
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (begin >= ranges[i].begin && end <= ranges[i].end) {
      last_range_ = i;
      return allows_range(ranges[i], access, fault);
    }
  }
  if (module_page_ != nullptr && page_of(begin) == module_page_) return true;
  if (launch_->module->contains(begin)) {
    module_page_ = page_of(begin);
    return true;
  }
  report_stray(access, fault);
  return false;
}

bool MemoryCheck::allows_range(const Range& range, const MemoryAccess& access, Fault& fault) {
  const bool is_constant = range.is_input || !range.is_writable;
  if (is_constant && access.writes() && launch_->findings != nullptr) {
    report_constant(range, access, fault);
    return false;
  }
  if (range.region == nullptr) return true;
  if (range.buffer->unwritten() != nullptr && !is_written(range, access, fault)) return false;
  if (range.is_read_back && !is_fenced(range, access, fault)) return false;
  if (!range.region->watches(access)) return true;
  const std::uint32_t segment = device_clock_.segment();
  if (segment == 0) return true;
  const Mark own{segment, access.thread->index, access.thread->bundle->device_rounds};
  const auto conflict = range.region->touch(access, own, device_clock_);
  if (conflict) return allows_conflict(access, *conflict, false, fault);
  if (access.atomic()) note_atomic(access, true);
  return true;
}

// A copy includes the padding of a struct, so at least one byte must be initialised, not all.
bool MemoryCheck::is_written(const Range& range, const MemoryAccess& access, Fault& fault) const {
  Storage::Unwritten* marks = range.buffer->unwritten() + (access.begin - range.begin);
  const auto is_missing = [](const auto& mark) { return mark.load() != 0; };
  const bool is_bad = access.kind == mb::AccessKind::copy
                          ? std::all_of(marks, marks + access.bytes, is_missing)
                          : access.reads() && std::any_of(marks, marks + access.bytes, is_missing);
  if (is_bad) {
    const auto first = std::find_if(marks, marks + access.bytes, is_missing) - marks;
    fault.rule = Rule::uninitialised;
    fault.memory = range.begin;
    std::snprintf(fault.text.data(), fault.text.size(),
                  "read of %" PRIu64 " bytes of `%s` that nothing has written: byte %td",
                  access.bytes, range.name.c_str(), access.begin + first - range.begin);
  }
  // Report each unwritten byte once: clear its marks.
  if (access.writes() || is_bad) {
    std::for_each(marks, marks + access.bytes,
                  [](auto& mark) { mark.store(0, std::memory_order_relaxed); });
  }
  return !is_bad;
}

bool MemoryCheck::allows_arena(const MemoryAccess& access, Fault& fault) {
  if (access.begin < arena_) {
    fault.rule = Rule::out_of_bounds;
    std::snprintf(fault.text.data(), fault.text.size(),
                  "%s of %" PRIu64 " bytes that begins %td bytes before threadgroup memory",
                  access.verb(), access.bytes, arena_ - access.begin);
    return false;
  }
  const auto offset = static_cast<std::uint64_t>(access.begin - arena_);
  if (offset + access.bytes > launch_->arena_bytes) {
    fault.rule = Rule::out_of_bounds;
    std::snprintf(fault.text.data(), fault.text.size(),
                  "%s of %" PRIu64 " bytes past the end of threadgroup memory: at byte %" PRIu64
                  " of %u",
                  access.verb(), access.bytes, offset, launch_->arena_bytes);
    return false;
  }
  if (!is_written_in_group(access, fault)) return false;
  const Mark own{arena_clock_.epoch, access.thread->index, access.thread->bundle->rounds};
  const auto conflict = arena_region_.touch(access, own, arena_clock_);
  if (access.atomic()) note_atomic(access, false);
  return !conflict || allows_conflict(access, *conflict, true, fault);
}

bool MemoryCheck::is_written_in_group(const MemoryAccess& access, Fault& fault) {
  std::uint32_t* by = written_by_.data() + (access.begin - arena_);
  const auto is_missing = [this](std::uint32_t serial) { return serial != group_serial_; };
  const bool is_bad = access.kind == mb::AccessKind::copy
                          ? std::all_of(by, by + access.bytes, is_missing)
                          : access.reads() && std::any_of(by, by + access.bytes, is_missing);
  if (is_bad) {
    const auto first = std::find_if(by, by + access.bytes, is_missing) - written_by_.data();
    fault.rule = Rule::uninitialised;
    std::snprintf(fault.text.data(), fault.text.size(),
                  "read of threadgroup memory that no thread of the group has written: byte %td",
                  first);
  }
  if (access.writes() || is_bad) std::fill_n(by, access.bytes, group_serial_);
  return !is_bad;
}

}  // namespace metalbench::cpu
