#include "executor/time_audit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/errors.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t kept_handshakes = 15;
// Tolerated ratio of a window's round-trip latency to that of the handshakes: latencies vary.
constexpr double allowed = 1.5;
// Maximum growth of the latency, relative to that before any kernel ran: limits forgery by kernels.
constexpr double most_growth = 2;
// Absolute limit of the latency, in case that the machine was busy before any kernel ran.
constexpr double most_allowed_ns = 500e3;
// Both processes read the clock before and after a window.
constexpr double clock_slack_ns = 2e3;
// A latency that is this many times longer, and this large a part of the window, is forged if most
// windows have it. Other load on the machine also delays some windows; that is not a forgery, and
// the missing time is added to the window anyway.
constexpr double far = 20;
constexpr double far_part = 0.75;
constexpr std::size_t fewest_windows = 32;
constexpr double most_windows = 0.9;
// Permitted work after an answer: the channel, and threads that find no more work.
constexpr double idle_work_ns = 1e6;
constexpr double idle_part = 0.02;
constexpr double most_overwork_ns = 20e6;  // of all windows

std::string in_ms(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", ns / 1e6);
  return text;
}

}  // namespace

void TimeAudit::note_handshake(double latency_ns) {
  if (handshakes_.size() < kept_handshakes) {
    handshakes_.push_back(latency_ns);
  } else {
    handshakes_[next_++ % kept_handshakes] = latency_ns;
  }
  if (windows_ == 0) honest_ns_ = handshake_ns();
}

double TimeAudit::handshake_ns() const {
  if (handshakes_.empty()) return 0;
  std::vector<double> sorted = handshakes_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double TimeAudit::audit_window(double reported_ns, double observed_ns) {
  if (!std::isfinite(reported_ns) || reported_ns < 0 ||
      reported_ns > observed_ns + clock_slack_ns) {
    throw ForgedTimes("forged times: the kernel's process reports a window of " +
                      in_ms(reported_ns) + ", of which only " + in_ms(observed_ns) +
                      " passed; its times cannot be used");
  }
  const double latency_ns = observed_ns - reported_ns;
  has_excess_ = latency_ns > std::max(far * handshake_ns(), far_part * observed_ns);
  ++windows_;
  excessive_ += has_excess_ ? 1 : 0;
  if (windows_ >= fewest_windows &&
      static_cast<double>(excessive_) > most_windows * static_cast<double>(windows_)) {
    throw ForgedTimes("forged times: in " + std::to_string(excessive_) + " of " +
                      std::to_string(windows_) +
                      " windows the kernel's process reports far less time than passed, in the "
                      "last one " +
                      in_ms(reported_ns) + " of " + in_ms(observed_ns) + ", while the latency is " +
                      in_ms(handshake_ns()));
  }
  const double trusted_ns = std::min(handshake_ns(), most_growth * honest_ns_);
  return std::max(reported_ns, observed_ns - std::min(allowed * trusted_ns, most_allowed_ns));
}

void TimeAudit::check_idle(double worked_ns, double passed_ns) {
  overwork_ns_ += std::max(0.0, worked_ns - std::max(idle_work_ns, idle_part * passed_ns));
  if (overwork_ns_ <= most_overwork_ns) return;
  throw ForgedTimes(
      "forged times: the kernel's process continues to work after it has reported "
      "completion, most recently for " +
      in_ms(worked_ns) + " of " + in_ms(passed_ns) + "; its times cannot be used");
}

}  // namespace metalbench::executor
