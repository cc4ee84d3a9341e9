#include "metal/busy.h"

#include <algorithm>

namespace metalbench::metal {

double busy_ns(std::vector<Span> spans, double from_ns) {
  std::ranges::sort(spans, {}, &Span::start_ns);
  double busy = 0;
  for (const Span& span : spans) {
    const double start = std::max(span.start_ns, from_ns);
    if (span.end_ns <= start) continue;
    busy += span.end_ns - start;
    from_ns = span.end_ns;
  }
  return busy;
}

}  // namespace metalbench::metal
