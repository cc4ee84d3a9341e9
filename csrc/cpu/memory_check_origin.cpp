// Provenance of pointers: an index that reaches other memory of the kernel is as wrong as one that
// reaches unmapped memory.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "cpu/memory_check.h"

namespace metalbench::cpu {
namespace {

bool holds(const Range& range, const std::byte* address) {
  return address >= range.begin && address < range.end;
}

void tell(Fault& fault, const char* from, std::ptrdiff_t at, std::ptrdiff_t bytes, const char* to) {
  fault.rule = Rule::out_of_bounds;
  std::snprintf(fault.text.data(), fault.text.size(),
                "access out of bounds of `%s`: at byte %td of %td, in memory of `%s`", from, at,
                bytes, to);
}

}  // namespace

bool MemoryCheck::stays(const std::byte* from, const std::byte* to, Fault& fault) const {
  const std::vector<Range>& ranges = launch_->ranges;
  if (last_range_ < ranges.size() && holds(ranges[last_range_], from) &&
      holds(ranges[last_range_], to)) {
    return true;
  }
  if (from >= arena_ && from < arena_ + launch_->arena_bytes)
    return stays_in_arena(from, to, fault);
  // Views of one buffer may overlap, and a pointer to the end of one may be the begin of the next.
  const auto is_of_both = [&](const Range& range) {
    return holds(range, from) && holds(range, to);
  };
  if (std::ranges::any_of(ranges, is_of_both)) return true;
  const auto origin = std::ranges::find_if(ranges, [&](const Range& r) { return holds(r, from); });
  const auto reached = std::ranges::find_if(ranges, [&](const Range& r) { return holds(r, to); });
  if (origin == ranges.end() || reached == ranges.end()) return true;
  if (from == origin->begin && to < from && reached->end == from) return true;
  fault.memory = origin->begin;
  tell(fault, origin->name.c_str(), to - origin->begin, origin->end - origin->begin,
       reached->name.c_str());
  return false;
}

bool MemoryCheck::is_of_one(const std::byte* first, const std::byte* second) const {
  const auto is_of_both = [&](const Range& range) {
    return holds(range, first) && holds(range, second);
  };
  const auto is_part = [&](const ArenaPart& part) {
    const std::byte *begin = arena_ + part.begin, *end = arena_ + part.end;
    return first >= begin && first < end && second >= begin && second < end;
  };
  return std::ranges::any_of(launch_->ranges, is_of_both) ||
         std::ranges::any_of(launch_->parts, is_part);
}

bool MemoryCheck::stays_in_arena(const std::byte* from, const std::byte* to, Fault& fault) const {
  if (to < arena_ || to >= arena_ + launch_->arena_bytes) return true;
  const auto part_of = [this](const std::byte* address) {
    const auto offset = static_cast<std::size_t>(address - arena_);
    return std::ranges::find_if(launch_->parts, [offset](const ArenaPart& part) {
      return offset >= part.begin && offset < part.end;
    });
  };
  const auto origin = part_of(from), reached = part_of(to), none = launch_->parts.end();
  if (origin == none || reached == none || origin == reached) return true;
  // It may be a pointer to the end of the previous variable.
  const std::byte* begin = arena_ + origin->begin;
  if (from == begin && to < from) return true;
  tell(fault, origin->name.c_str(), to - begin,
       static_cast<std::ptrdiff_t>(origin->end - origin->begin), reached->name.c_str());
  return false;
}

}  // namespace metalbench::cpu
