// Judges the times that an executor reports by those that its judge saw pass.
//
// A window's own time is less than what passes between the request and the answer, by the way there
// and back. How long that takes is measured with windows of known length, first of all before any
// kernel has run, when nobody there has a reason to make it look longer. What goes beyond is
// counted to the window, so that a report that is too small gains next to nothing; where it goes
// far beyond time and again, or where more is reported than has passed, nothing that this executor
// says is worth anything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace metalbench::executor {

class Agreement {
 public:
  // The way of a window of known length took so long.
  void note_handshake(double way_ns);
  // What a handshake takes, by the last ones; 0 before any.
  [[nodiscard]] double handshake_ns() const;

  // The time that counts of a window, in ns. Throws ForgedTimes.
  [[nodiscard]] double settle(double reported_ns, double seen_ns);
  // Whether the last window's way took longer than one should, so that it is to be measured anew.
  [[nodiscard]] bool wants_handshakes() const { return disagrees_; }

  // So much of the processor's time an executor took between an answer and the next request, while
  // `passed_ns` passed. Throws ForgedTimes.
  void check_idle(double worked_ns, double passed_ns);

 private:
  std::vector<double> handshakes_;  // the last ones, in turn
  double honest_ns_ = 0;            // what they took before the first window
  std::size_t next_ = 0;
  std::size_t windows_ = 0;
  std::size_t disagreeing_ = 0;
  bool disagrees_ = false;
  double overwork_ns_ = 0;
};

}  // namespace metalbench::executor
