#include "timeline.h"

#include <algorithm>
#include <utility>

#include "control.h"
#include "driver_errors.h"
#include "fence.h"
#include "gpu_clock.h"

namespace metal_double {
namespace {

constexpr std::int64_t residency_ticks = 1 * static_cast<std::int64_t>(tick_hz);

bool conflict(const Use& a, const Use& b) {
  if (!a.writes && !b.writes) return false;
  return a.memory.data() < b.memory.data() + b.memory.size() &&
         b.memory.data() < a.memory.data() + a.memory.size();
}

// Metal knows its resources, not what memory they have in common.
bool orders(const Use& a, const Use& b) {
  return a.tracked && b.tracked && a.resource == b.resource;
}

template <class Test>
bool any_pair(const std::vector<Use>& before, const std::vector<Use>& now, const Test& test) {
  return std::ranges::any_of(before, [&](const Use& a) {
    return std::ranges::any_of(
        now, [&](const Use& b) { return a.resource != nullptr && conflict(a, b) && test(a, b); });
  });
}

}  // namespace

std::int64_t Timeline::begin_buffer(std::int64_t arrival) {
  last_begin_ = std::max(last_begin_, arrival);
  residency_lapsed_ = last_begin_ - last_end_ > residency_ticks;
  std::erase_if(past_, [this](const Past& past) { return past.end <= last_begin_; });
  return last_begin_;
}

std::int64_t Timeline::begin_pass(const Pass& pass, const std::vector<Use>& uses,
                                  std::int64_t earliest) {
  std::int64_t begin = earliest;
  for (id<MTLFence> fence : pass.waited_for) {
    begin = std::max<std::int64_t>(begin, static_cast<DoubleFence*>(fence)->_updatedAt);
  }
  for (const Past& past : past_) {
    if (pass.is_after_queue) begin = std::max(begin, past.end);
    if (past.end > begin && any_pair(past.uses, uses, orders)) begin = past.end;
  }
  const auto is_unordered = [](const Use& a, const Use& b) { return !orders(a, b); };
  for (const Past& past : past_) {
    if (past.end <= begin || !any_pair(past.uses, uses, is_unordered)) continue;
    violation("[" + pass.label + "] uses memory while [" + past.label +
              "] may still use it, and one of them writes to it: no fence orders them");
  }
  return begin;
}

void Timeline::end_pass(const Pass& pass, std::vector<Use> uses, std::int64_t end) {
  for (id<MTLFence> fence : pass.updated) static_cast<DoubleFence*>(fence)->_updatedAt = end;
  past_.push_back({pass.label, std::move(uses), end});
  last_end_ = std::max(last_end_, end);
}

void Timeline::note_error(int code, std::uint64_t host_ns) {
  if (faulted_ns_ == 0 && is_fault(code)) faulted_ns_ = host_ns;
}

int Timeline::consequence(std::uint64_t committed_ns) const {
  if (faulted_ns_ == 0) return 0;
  return committed_ns < faulted_ns_ ? innocent_victim : submissions_ignored;
}

}  // namespace metal_double
