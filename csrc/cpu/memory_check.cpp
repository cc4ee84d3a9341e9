#include "cpu/memory_check.h"

#include <cinttypes>
#include <cstdio>

namespace metalbench::cpu {
namespace {

// How far beyond a buffer an address is still taken to be meant for it.
constexpr std::ptrdiff_t neighbourhood = 16 * 1024;
constexpr std::uintptr_t page = 4096;

const std::byte* page_of(const std::byte* address) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(address) / page *
                                            page);
}

const char* verb(const Access& access) { return access.writes() ? "write" : "read"; }

}  // namespace

MemoryCheck::MemoryCheck(std::uint32_t arena_capacity) : cells_(arena_capacity) {}

void MemoryCheck::begin(const Launch& launch, const mb::u8* arena) {
  launch_ = &launch;
  arena_ = reinterpret_cast<const std::byte*>(arena);
  last_range_ = 0;
  module_page_ = nullptr;
}

void MemoryCheck::start_group() {
  ++group_;
  ++epoch_;
}

bool MemoryCheck::allows(const Access& access, std::span<char> report) {
  const std::byte* begin = access.begin;
  const std::byte* end = begin + access.bytes;
  const std::vector<Range>& ranges = launch_->ranges;
  if (last_range_ < ranges.size() && begin >= ranges[last_range_].begin &&
      end <= ranges[last_range_].end) {
    return true;
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (begin >= ranges[i].begin && end <= ranges[i].end) {
      last_range_ = i;
      return true;
    }
  }
  if (begin >= arena_ && begin < arena_ + cells_.size()) return allows_arena(access, report);
  if (page_of(begin) == module_page_) return true;
  if (launch_->module->contains(begin)) {
    module_page_ = page_of(begin);
    return true;
  }
  report_stray(access, report);
  return false;
}

void MemoryCheck::report_stray(const Access& access, std::span<char> report) const {
  const Range* nearest = nullptr;
  std::ptrdiff_t distance = neighbourhood;
  for (const Range& range : launch_->ranges) {
    const std::ptrdiff_t away =
        access.begin < range.begin ? range.begin - access.begin : access.begin - range.end;
    if (away < distance) {
      distance = away;
      nearest = &range;
    }
  }
  if (nearest == nullptr) {
    std::snprintf(report.data(), report.size(), "%s of %" PRIu64 " bytes outside of every buffer",
                  verb(access), access.bytes);
  } else if (access.begin < nearest->begin) {
    std::snprintf(report.data(), report.size(),
                  "%s of %" PRIu64 " bytes that begins %td bytes before `%s`", verb(access),
                  access.bytes, distance, nearest->name.c_str());
  } else {
    std::snprintf(report.data(), report.size(),
                  "%s of %" PRIu64 " bytes past the end of `%s`: at byte %td of %td", verb(access),
                  access.bytes, nearest->name.c_str(), access.begin - nearest->begin,
                  nearest->end - nearest->begin);
  }
}

// Lanes of one SIMD-group are in step from one of its meetings to the next.
bool MemoryCheck::conflicts(std::uint16_t other, std::uint32_t round,
                            const mb::Fiber* thread) const {
  if (other == nobody || other == thread->index) return false;
  const bool same_simdgroup = other != many && other / mb::simd_width == thread->simdgroup->index;
  return !same_simdgroup || round == thread->simdgroup->rounds;
}

bool MemoryCheck::allows_arena(const Access& access, std::span<char> report) {
  const auto offset = static_cast<std::uint64_t>(access.begin - arena_);
  if (offset + access.bytes > launch_->arena_bytes) {
    std::snprintf(report.data(), report.size(),
                  "%s of %" PRIu64 " bytes past the end of threadgroup memory: at byte %" PRIu64
                  " of %u",
                  verb(access), access.bytes, offset, launch_->arena_bytes);
    return false;
  }
  for (std::uint64_t i = offset; i < offset + access.bytes; ++i) {
    Cell& cell = cells_[i];
    if (cell.epoch != epoch_) {
      cell.epoch = epoch_;
      cell.writer = cell.reader = cell.atomic_writer = cell.atomic_reader = nobody;
    }
    if (!allows_byte(access, i, report)) return false;
    record(access, i);
  }
  return true;
}

bool MemoryCheck::allows_byte(const Access& access, std::uint64_t offset,
                              std::span<char> report) const {
  const Cell& cell = cells_[offset];
  const mb::Fiber* thread = access.thread;
  if (access.reads() && cell.written_by_group != group_) {
    std::snprintf(report.data(), report.size(),
                  "read of threadgroup memory that no thread of the group has written: byte "
                  "%" PRIu64,
                  offset);
    return false;
  }
  if (access.writes() &&
      (conflicts(cell.reader, cell.read_round, thread) ||
       (!access.atomic() && conflicts(cell.atomic_reader, cell.atomic_round, thread)))) {
    std::snprintf(report.data(), report.size(),
                  "race in threadgroup memory: thread %u writes byte %" PRIu64
                  " that another thread reads; a threadgroup_barrier is missing in between",
                  thread->index, offset);
    return false;
  }
  const bool after_write =
      (access.reads() || access.atomic()) && conflicts(cell.writer, cell.write_round, thread);
  const bool after_atomic =
      !access.atomic() && conflicts(cell.atomic_writer, cell.atomic_round, thread);
  if (!after_write && !after_atomic) return true;
  char other[32] = "an atomic function";
  if (after_write) std::snprintf(other, sizeof other, "thread %u", cell.writer);
  std::snprintf(report.data(), report.size(),
                "race in threadgroup memory: thread %u %ss byte %" PRIu64
                " that %s writes; a threadgroup_barrier is missing in between",
                thread->index, verb(access), offset, other);
  return false;
}

void MemoryCheck::record(const Access& access, std::uint64_t offset) {
  Cell& cell = cells_[offset];
  const auto thread = static_cast<std::uint16_t>(access.thread->index);
  const std::uint32_t round = access.thread->simdgroup->rounds;
  const auto also = [thread](std::uint16_t before) {
    return before == nobody || before == thread ? thread : many;
  };
  if (access.writes()) cell.written_by_group = group_;
  if (access.atomic()) {
    cell.atomic_round = round;
    if (access.reads()) cell.atomic_reader = also(cell.atomic_reader);
    if (access.writes()) cell.atomic_writer = also(cell.atomic_writer);
  } else if (access.writes()) {
    cell.writer = thread;
    cell.write_round = round;
  } else {
    cell.reader = also(cell.reader);
    cell.read_round = round;
  }
}

}  // namespace metalbench::cpu
