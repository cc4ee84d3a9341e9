// How long a GPU was busy, of the times at which pieces of work began and ended.
#pragma once

#include <vector>

namespace metalbench::metal {

struct Span {
  double start_ns = 0;
  double end_ns = 0;
};

// Whether Metal gave one: it leaves both ends 0 where it could not tell.
[[nodiscard]] inline bool is_time(const Span& span) {
  return span.start_ns > 0 && span.end_ns > span.start_ns;
}

// The time that at least one of them covers after `from_ns`: what overlaps counts once, and gaps
// between them not at all.
[[nodiscard]] double busy_ns(std::vector<Span> spans, double from_ns = 0);

}  // namespace metalbench::metal
