#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/memory_check_region.h"
#include "cpu/memory_check_segments.h"

namespace metalbench::cpu {

// What checked runs of one program know of the buffers' memory. Shared by its launches and by all
// workers.
class Shadow {
 public:
  // Buffers may overlap; to be called for all of them before the first region_of(). Watched from
  // the start is what the kernel may write to.
  void add(const std::byte* begin, const std::byte* end, std::size_t element_bytes,
           bool is_watched);
  void divide();
  // Of memory that was added.
  [[nodiscard]] Region* region_of(const std::byte* begin) const;

  [[nodiscard]] Segments& segments() { return segments_; }

  // Runs of the program, one after the other; `turn` tells the launches within one apart.
  void begin_run() { runs_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t run_of(std::uint32_t turn) const {
    return runs_.load(std::memory_order_relaxed) << 32 | turn;
  }

 private:
  struct Part {
    const std::byte* begin;
    const std::byte* end;
    std::size_t word_bytes;
    bool is_watched;
  };

  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Region>> regions_;  // by address, none overlaps another
  Segments segments_;
  std::atomic<std::uint64_t> runs_{0};
};

}  // namespace metalbench::cpu
