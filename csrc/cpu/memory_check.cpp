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

const char* verb(const Access& access) { return access.write ? "write" : "read"; }

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
  const auto thread = static_cast<std::uint16_t>(access.thread->index);
  const std::uint32_t round = access.thread->simdgroup->rounds;
  for (std::uint64_t i = offset; i < offset + access.bytes; ++i) {
    Cell& cell = cells_[i];
    if (cell.epoch != epoch_) {
      cell.epoch = epoch_;
      cell.writer = cell.reader = nobody;
    }
    if (access.write) {
      if (conflicts(cell.reader, cell.read_round, access.thread)) {
        std::snprintf(report.data(), report.size(),
                      "race in threadgroup memory: thread %u writes byte %" PRIu64
                      " that another thread reads; a threadgroup_barrier is missing in between",
                      thread, i);
        return false;
      }
      cell.writer = thread;
      cell.write_round = round;
      cell.written_by_group = group_;
      continue;
    }
    if (cell.written_by_group != group_) {
      std::snprintf(report.data(), report.size(),
                    "read of threadgroup memory that no thread of the group has written: byte "
                    "%" PRIu64,
                    i);
      return false;
    }
    if (conflicts(cell.writer, cell.write_round, access.thread)) {
      std::snprintf(report.data(), report.size(),
                    "race in threadgroup memory: thread %u reads byte %" PRIu64
                    " that thread %u writes; a threadgroup_barrier is missing in between",
                    thread, i, cell.writer);
      return false;
    }
    cell.reader = cell.reader == nobody || cell.reader == thread ? thread : many;
    cell.read_round = round;
  }
  return true;
}

}  // namespace metalbench::cpu
