// Time audit: compares the times that an executor reports with those that its judge observes.
//
// The judge observes a window's time plus the round-trip latency of request and answer. Windows of
// known length measure this latency, first of all before any kernel has run and could delay them.
// Excess over the expected latency is added to the window, so that a report that is too small gains
// almost nothing. If the excess is often very large, or if more time is reported than has passed,
// all times of this executor are rejected.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace metalbench::executor {

class TimeAudit {
 public:
  // Record the latency of a window of known length.
  void note_handshake(double latency_ns);
  // Return the latency of a handshake, from the latest ones; 0 before any.
  [[nodiscard]] double handshake_ns() const;

  // Return the accepted time of a window, in ns. Throws ForgedTimes.
  [[nodiscard]] double audit_window(double reported_ns, double observed_ns);
  // Return whether the latency of the last window was too long, so that it must be measured again.
  [[nodiscard]] bool needs_handshakes() const { return has_excess_; }

  // Check the processor time that an executor used between an answer and the next request, during
  // `passed_ns`. Throws ForgedTimes.
  void check_idle(double worked_ns, double passed_ns);

 private:
  std::vector<double> handshakes_;  // ring buffer of the latest latencies
  double honest_ns_ = 0;            // latency before the first window
  std::size_t next_ = 0;
  std::size_t windows_ = 0;
  std::size_t excessive_ = 0;
  bool has_excess_ = false;
  double overwork_ns_ = 0;
};

}  // namespace metalbench::executor
