// Order of accesses to device memory: the accesses of a threadgroup fall into segments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/memory_check_happens_before.h"
#include "cpu/memory_check_mark.h"
#include "cpu/memory_check_reserved.h"

namespace metalbench::cpu {

// Accesses of a threadgroup between two of its points of synchronisation.
struct Segment {
  std::uint64_t group = 0;
  std::uint32_t epoch = 0;                 // a barrier separates different epochs
  std::uint32_t phase = 0;                 // the same for barriers without mem_device
  std::atomic<std::uint32_t> released{0};  // first release to another threadgroup; 0: never
};

// All segments of a program's runs. Shared by all workers.
class Segments {
 public:
  Segments();

  // Enter a run; later launches have separate runs. Every worker calls this before it requests
  // segments. Return the first segment of the run.
  [[nodiscard]] std::uint32_t enter(std::uint64_t run);
  // Return the numbers first to second - 1; an empty range if none are left: later accesses are not
  // checked.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> take();
  [[nodiscard]] std::uint32_t end() const { return next_.load(); }
  [[nodiscard]] Segment& at(std::uint32_t number) const { return entries_.as<Segment>()[number]; }

  [[nodiscard]] std::uint32_t now() const { return time_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t advance() { return 1 + time_.fetch_add(1); }

  // Record a release: an acquire through the same atomic object then knows `known`, which includes
  // what the releasing threads had acquired.
  void publish(const std::byte* object, const KnownReleases& known);
  void learn(const std::byte* object, KnownReleases& known) const;

 private:
  static constexpr std::uint32_t most = Mark::segments;

  Reserved entries_;
  std::atomic<std::uint32_t> next_{1};
  std::atomic<std::uint32_t> time_{1};
  mutable std::mutex mutex_;
  std::unordered_map<const std::byte*, KnownReleases> objects_;
  std::uint64_t run_ = 0;
  std::uint32_t first_ = 1;
};

// Segments of the threadgroups that one runner executes in sequence.
//
// A barrier with mem_device orders the threads of a group. So does any other barrier, if the
// earlier thread executes a fence before it and the later one after it. Two groups are ordered as
// in the C++ memory model: a fence, then an atomic write in one; an atomic read of the same object
// in the other, then a fence. Whether the read returned that write is not checked, so races may be
// missed but never invented. A barrier with mem_device counts as a fence; Metal had no other fence
// before 3.2.
class GroupClock {
 public:
  static constexpr bool is_shared = true;
  // Enter launch run `run`.
  void enter(Segments& segments, std::uint64_t run);
  void start_group(std::uint64_t number);
  void barrier(bool is_device);
  void fence(std::uint32_t thread, Fence fence);
  // Other threadgroups see only objects in device memory.
  void read_atomically(const std::byte* object, std::uint32_t thread, bool is_device);
  void write_atomically(const std::byte* object, std::uint32_t thread, bool is_device);

  [[nodiscard]] std::uint32_t segment() const { return segment_; }
  // Return whether the segment, of this launch, belongs to this group.
  [[nodiscard]] bool is_own(std::uint32_t segment) const { return group_of(segment) == group_; }
  // Return whether it is own and no barrier has followed.
  [[nodiscard]] bool is_concurrent(std::uint32_t segment) const;
  // Return whether an access happened before the current one of `thread`: in an earlier launch,
  // before a barrier, or released to this thread or group.
  [[nodiscard]] bool is_over(const Mark& mark, std::uint32_t thread) const;
  [[nodiscard]] bool is_of_this_launch(std::uint32_t segment) const {
    return segment >= first_ && segment < segments_->end();
  }
  [[nodiscard]] std::uint64_t group_of(std::uint32_t segment) const {
    return segments_->at(segment).group;
  }

 private:
  void next_segment();
  void acquire();
  [[nodiscard]] bool is_ordered_by_atomics(const Mark& mark, std::uint32_t thread) const;

  Segments* segments_ = nullptr;
  std::uint32_t first_ = 0;  // first segment of this launch
  std::uint32_t free_ = 0;   // first reserved, unused segment; free_end_ ends the range
  std::uint32_t free_end_ = 0;
  std::uint64_t group_ = 0;
  std::uint32_t segment_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t phase_ = 1;
  KnownReleases acquired_;
  AtomicReads read_;
  bool has_fenced_ = false;        // since the last release
  std::uint32_t released_at_ = 0;  // time; 0: never
  std::vector<std::uint32_t> unreleased_;
  HappensBefore happens_before_;  // within the group
  // By thread: phase of its last fence; 0: none. Empty until the first fence.
  std::vector<std::uint32_t> fenced_in_;
};

}  // namespace metalbench::cpu
