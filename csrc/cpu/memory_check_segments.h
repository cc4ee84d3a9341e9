// What is ordered in device memory: the accesses of a threadgroup fall into segments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/memory_check_handover.h"
#include "cpu/memory_check_mark.h"
#include "cpu/memory_check_reserved.h"

namespace metalbench::cpu {

// What a threadgroup does from one of its points of synchronisation to the next.
struct Segment {
  std::uint64_t group = 0;
  std::uint32_t epoch = 0;                 // a barrier lies between two different ones
  std::uint32_t phase = 0;                 // likewise, one without mem_device
  std::atomic<std::uint32_t> released{0};  // when another threadgroup could first know; 0: never
};

// All segments of a program's runs. Shared by all workers.
class Segments {
 public:
  Segments();

  // Launches that come later have a run of their own. To be called by every worker before it asks
  // for segments in it. Returns the first segment that belongs to the run.
  [[nodiscard]] std::uint32_t enter(std::uint64_t run);
  // The numbers from first to second - 1; none when there are no more: what follows is not watched.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> take();
  [[nodiscard]] std::uint32_t end() const { return next_.load(); }
  [[nodiscard]] Segment& at(std::uint32_t number) const { return entries_.as<Segment>()[number]; }

  [[nodiscard]] std::uint32_t now() const { return time_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t advance() { return 1 + time_.fetch_add(1); }

  // Whoever acquires through an atomic object knows what others have released through it, and what
  // they knew then.
  void publish(const std::byte* object, const Known& known);
  void learn(const std::byte* object, Known& known) const;

 private:
  static constexpr std::uint32_t most = Mark::segments;

  Reserved entries_;
  std::atomic<std::uint32_t> next_{1};
  std::atomic<std::uint32_t> time_{1};
  mutable std::mutex mutex_;
  std::unordered_map<const std::byte*, Known> objects_;
  std::uint64_t run_ = 0;
  std::uint32_t first_ = 1;
};

// The segments of the threadgroups that one runner runs, one after the other.
//
// Threads of one group are ordered by a barrier with mem_device, or by any other one if the first
// has a fence before it and the second one after it. Two groups are ordered as in the
// C++ memory model: by a fence, then an atomic write of the one; an atomic read of the same object
// by the other, then a fence. Whether the read saw that write is not looked at: too few races may
// be seen, never too many. A barrier with mem_device counts as a fence; Metal had no other
// before 3.2.
class GroupClock {
 public:
  static constexpr bool is_shared = true;
  // Of launch run `run`.
  void enter(Segments& segments, std::uint64_t run);
  void start_group(std::uint64_t number);
  void barrier(bool is_device);
  void fence(std::uint32_t thread, Fence fence);
  // Objects in device memory alone are seen by other threadgroups.
  void read_atomically(const std::byte* object, std::uint32_t thread, bool is_device);
  void write_atomically(const std::byte* object, std::uint32_t thread, bool is_device);

  [[nodiscard]] std::uint32_t segment() const { return segment_; }
  // Whether the segment, of this launch, is one of this group.
  [[nodiscard]] bool is_own(std::uint32_t segment) const { return group_of(segment) == group_; }
  // And with no barrier since.
  [[nodiscard]] bool is_concurrent(std::uint32_t segment) const;
  // Whether what another one did is over for certain when `thread` comes: in an earlier launch,
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
  [[nodiscard]] bool is_handed_over(const Mark& mark, std::uint32_t thread) const;

  Segments* segments_ = nullptr;
  std::uint32_t first_ = 0;  // of this launch
  std::uint32_t free_ = 0;   // taken, not yet used: up to free_end_
  std::uint32_t free_end_ = 0;
  std::uint64_t group_ = 0;
  std::uint32_t segment_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t phase_ = 1;
  Known acquired_;
  AtomicReads read_;
  bool has_fenced_ = false;        // since the last release
  std::uint32_t released_at_ = 0;  // time; 0: never
  std::vector<std::uint32_t> unreleased_;
  Handover handover_;  // within the group
  // By thread: the phase of its last fence; 0: none. Empty until there is one.
  std::vector<std::uint32_t> fenced_in_;
};

}  // namespace metalbench::cpu
