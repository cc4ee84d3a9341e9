#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/memory_check_region.h"
#include "cpu/memory_check_segments.h"

namespace metalbench::cpu {

// Access history of the buffers of one program's checked runs. Shared by its launches and by all
// workers.
class Shadow {
 public:
  // Add a buffer; buffers may overlap. Add all of them before the first region_of(). Writable
  // memory is watched from the start.
  void add(const std::byte* begin, const std::byte* end, std::size_t element_bytes,
           bool is_watched);
  void divide();
  // Return the region of memory that was added.
  [[nodiscard]] Region* region_of(const std::byte* begin) const;

  [[nodiscard]] Segments& segments() { return segments_; }

  // Begin a run of the program; `launch` distinguishes the launches within a run.
  void begin_run() { runs_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t run_of(std::uint32_t launch) const {
    return runs_.load(std::memory_order_relaxed) << 32 | launch;
  }

 private:
  struct Part {
    const std::byte* begin;
    const std::byte* end;
    std::size_t word_bytes;
    bool is_watched;
  };

  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Region>> regions_;  // sorted by address, not overlapping
  Segments segments_;
  std::atomic<std::uint64_t> runs_{0};
};

}  // namespace metalbench::cpu
