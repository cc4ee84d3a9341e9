// When the passes of one queue run on the GPU. Each may begin once it is committed: only fences,
// and memory that Metal tracks, make it wait for others.
#pragma once

#import <Metal/Metal.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "commands.h"

namespace metal_double {

// Memory that a pass touches.
struct Use {
  const void* resource = nullptr;  // only compared, never read
  std::span<const std::byte> memory;
  bool writes = false;
  bool tracked = true;
};

// Of the queue's own thread alone.
class Timeline {
 public:
  // The tick when a command buffer begins that came to the GPU at `arrival`: in the queue's order.
  [[nodiscard]] std::int64_t begin_buffer(std::int64_t arrival);
  // Whether the queue had nothing to do for a second before it: as of macOS 26 its memory has to
  // become resident again.
  [[nodiscard]] bool residency_lapsed() const { return residency_lapsed_; }
  // When this pass of it can run. Reports memory that nothing keeps from being used by two passes
  // at once, one of which writes to it.
  [[nodiscard]] std::int64_t begin_pass(const Pass& pass, const std::vector<Use>& uses,
                                        std::int64_t earliest);
  void end_pass(const Pass& pass, std::vector<Use> uses, std::int64_t end);

  // Of a command buffer on this queue, after it ended with this error.
  void note_error(int code, std::uint64_t host_ns);
  // The error that a command buffer committed at this time ends with without being run, or 0.
  [[nodiscard]] int consequence(std::uint64_t committed_ns) const;

 private:
  struct Past {
    std::string label;
    std::vector<Use> uses;
    std::int64_t end = 0;
  };

  std::int64_t last_begin_ = 0;
  std::int64_t last_end_ = 0;
  bool residency_lapsed_ = false;
  std::deque<Past> past_;  // what may still run when something new begins
  std::uint64_t faulted_ns_ = 0;
};

}  // namespace metal_double
