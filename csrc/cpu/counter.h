// Counted launches: what a kernel's threads do to memory, as SIMD-groups do it together.
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

// One access of a SIMD-group: the same instruction, run by each of `lanes` as often before.
struct SimdAccess {
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;
  mb::Counted kind = mb::Counted::read;
  std::array<const std::byte*, mb::simd_width> address{};
};

// The sums of one launch. Its buffer begins with what the host asks for, in words of 64 bits, and
// gets the sums behind it when the launch has ended; csrc/msl/mb/cpu/counts.h says where what is.
class Counter {
 public:
  // Throws DispatchError if the buffer is too small for what its head says.
  Counter(Buffer results, const std::string& kernel);

  // Before a run. The launch is complete only then.
  void begin(const Launch& launch);
  void publish();

  [[nodiscard]] std::uint32_t sites() const { return sites_; }
  [[nodiscard]] std::uint32_t segments() const { return segments_; }

  void add_segment(std::uint32_t segment, std::uint64_t by_threads, std::uint64_t by_simdgroups);
  void add_access(std::uint32_t site, const SimdAccess& access, const std::byte* arena);
  void add_simdgroup(std::uint32_t threads);
  // How often one thread read and wrote device memory, then threadgroup memory.
  void add_thread(const std::array<std::uint64_t, 4>& accesses);
  void trace(std::uint32_t site, std::uint64_t group, std::uint32_t thread,
             const std::byte* address, const std::byte* arena);
  // Where an address lies: an index of counts::Space.
  [[nodiscard]] std::uint32_t space_of(const std::byte* address, const std::byte* arena);

 private:
  struct Memory {
    const std::byte* begin;
    const std::byte* end;
    std::uint64_t skew;  // of its begin, where Metal's buffers begin at a page
    bool is_constant;
    // A bit for each byte, in lines of 128.
    std::vector<std::uint64_t> read, written;
  };
  struct Line {
    std::uint32_t memory;
    std::uint64_t number;
    std::uint64_t low, high;  // which of its bytes
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
  std::vector<std::uint64_t> words_;  // what is published
  std::vector<std::uint64_t> trace_;
  std::vector<Memory> memories_;
  std::uint32_t last_ = 0;  // of them, where the last address was
  std::size_t arena_bytes_ = 0;
  std::vector<Line> lines_;
  std::vector<std::uint64_t> wanted_;  // words of threadgroup memory
};

// What the threads of one threadgroup have done since they last met.
class GroupCounts {
 public:
  void begin(Counter& counter) { counter_ = &counter; }
  void start_group(std::uint64_t number, std::uint32_t threads);
  // How often each segment was run by a thread of the group.
  [[nodiscard]] mb::u32* of_thread(std::uint32_t index) {
    return executions_.data() + std::size_t{index} * counter_->segments();
  }
  void access(const mb::Fiber& fiber, const std::byte* address, std::uint32_t site, mb::u32 bytes,
              mb::Counted kind, std::uint32_t turn);
  // Its lanes have met, or have returned: nothing that comes belongs to what was.
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
