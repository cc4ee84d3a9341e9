#include "cpu/memory_check_shadow.h"

#include <algorithm>

namespace metalbench::cpu {

void Shadow::add(const std::byte* begin, const std::byte* end, std::size_t element_bytes,
                 bool is_watched) {
  // `|` of the element sizes, whose lowest bit is the smallest power of two.
  if (begin != end) parts_.push_back({begin, end, element_bytes, is_watched});
}

void Shadow::divide() {
  std::ranges::sort(parts_, {}, &Part::begin);
  std::vector<Part> merged;
  for (const Part& part : parts_) {
    if (merged.empty() || part.begin >= merged.back().end) {
      merged.push_back(part);
      continue;
    }
    merged.back().end = std::max(merged.back().end, part.end);
    merged.back().word_bytes |= part.word_bytes;
    merged.back().is_watched |= part.is_watched;
  }
  parts_.clear();
  for (const Part& part : merged) {
    regions_.push_back(
        std::make_unique<Region>(part.begin, part.end, part.word_bytes, part.is_watched));
  }
}

Region* Shadow::region_of(const std::byte* begin) const {
  const auto after = std::ranges::upper_bound(regions_, begin, {},
                                              [](const auto& region) { return region->begin(); });
  if (after == regions_.begin()) return nullptr;
  Region* region = std::prev(after)->get();
  return begin < region->end() ? region : nullptr;
}

}  // namespace metalbench::cpu
