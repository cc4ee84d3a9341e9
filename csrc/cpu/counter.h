// Counted launches: memory accesses of a kernel, combined per SIMD-group.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "msl/mb/abi.h"
#include "msl/mb/cpu/counts.h"

namespace metalbench::cpu {

struct Launch;

// One access of a SIMD-group: one instruction in one iteration, executed by each of `lanes`.
struct SimdAccess {
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;
  mb::Counted kind = mb::Counted::read;
  std::array<const std::byte*, mb::simd_width> address{};
};

// Counts of one launch. The head of the buffer holds the host's request in words of 64 bits; the
// counts follow it when the launch has ended. csrc/msl/mb/cpu/counts.h defines the layout.
class Counter {
 public:
  // Throws DispatchError if the buffer is too small for the request in its head.
  Counter(Buffer results, const std::string& kernel);

  // Call before a run, because the launch is complete only then.
  void begin(const Launch& launch);
  void publish();

  [[nodiscard]] std::uint32_t sites() const { return sites_; }
  [[nodiscard]] std::uint32_t segments() const { return segments_; }

  void add_segment(std::uint32_t segment, std::uint64_t by_threads, std::uint64_t by_simdgroups);
  void add_access(std::uint32_t site, const SimdAccess& access, const std::byte* arena);
  void add_simdgroup(std::uint32_t threads);
  // Add the numbers of reads and writes of one thread: device memory, then threadgroup memory.
  void add_thread(const std::array<std::uint64_t, 4>& accesses);
  void trace(std::uint32_t site, std::uint64_t group, std::uint32_t thread,
             const std::byte* address, const std::byte* arena);
  // Return the address space of an address, as an index of counts::Space.
  [[nodiscard]] std::uint32_t space_of(const std::byte* address, const std::byte* arena);

 private:
  struct Memory {
    const std::byte* begin;
    const std::byte* end;
    std::uint64_t skew;  // offset of the begin in its page; Metal's buffers begin at a page
    bool is_constant;
    // One bit per byte, in lines of 128 bytes.
    std::vector<std::uint64_t> read, written;
  };
  struct Line {
    std::uint32_t memory;
    std::uint64_t number;
    std::uint64_t low, high;  // bits of the bytes in the line
  };

  [[nodiscard]] std::uint64_t* row(std::uint32_t site, std::uint32_t space);
  [[nodiscard]] bool find(const std::byte* address);
  void add_lines(const SimdAccess& access, std::uint32_t lanes, std::uint64_t* row);
  void add_words(const SimdAccess& access, std::uint32_t lanes, const std::byte* arena,
                 std::uint64_t* row);
  void take_bytes(const SimdAccess& access, std::uint32_t lane);
  void mark(std::uint32_t memory, std::uint64_t number, std::uint64_t first, std::uint64_t count);

  Buffer results_;
  std::uint32_t sites_ = 0, segments_ = 0;
  std::uint64_t trace_capacity_ = 0;
  std::vector<std::uint64_t> words_;  // the published result
  std::vector<std::uint64_t> trace_;
  std::vector<Memory> memories_;
  std::uint32_t last_ = 0;  // index of the last address's buffer in them
  std::size_t arena_bytes_ = 0;
  std::vector<Line> lines_;
  std::vector<std::uint64_t> wanted_;  // words of threadgroup memory that lanes access
};

// Counts of one threadgroup since the last synchronisation of its threads.
class GroupCounts {
 public:
  void begin(Counter& counter) { counter_ = &counter; }
  void start_group(std::uint64_t number, std::uint32_t threads);
  // Return a thread's execution counts, one for each segment of the code.
  [[nodiscard]] mb::u32* of_thread(std::uint32_t index) {
    return executions_.data() + std::size_t{index} * counter_->segments();
  }
  void access(const mb::Fiber& fiber, const std::byte* address, std::uint32_t site, mb::u32 bytes,
              mb::Counted kind, std::uint32_t execution);
  // Combine pending accesses at a synchronisation or return of the SIMD-group's lanes: later
  // accesses do not combine with earlier ones.
  void fold(std::uint32_t simdgroup, const std::byte* arena);
  void fold_all(const std::byte* arena);
  void end_group(const std::byte* arena);

 private:
  Counter* counter_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint32_t threads_ = 0;
  std::vector<mb::u32> executions_;                     // by thread and segment
  std::vector<std::vector<SimdAccess>> pending_;        // by SIMD-group and site
  std::vector<std::array<std::uint64_t, 4>> accesses_;  // by thread
};

}  // namespace metalbench::cpu
