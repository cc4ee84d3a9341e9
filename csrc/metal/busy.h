// Busy time of a GPU from the start and end times of its work.
#pragma once

#include <vector>

namespace metalbench::metal {

struct Span {
  double start_ns = 0;
  double end_ns = 0;
};

// Return whether Metal reported the times: it leaves both ends 0 if they are unknown.
[[nodiscard]] inline bool is_time(const Span& span) {
  return span.start_ns > 0 && span.end_ns > span.start_ns;
}

// Return the length of the union of the spans after `from_ns`: overlaps count once, gaps do not
// count.
[[nodiscard]] double busy_ns(std::vector<Span> spans, double from_ns = 0);

}  // namespace metalbench::metal
