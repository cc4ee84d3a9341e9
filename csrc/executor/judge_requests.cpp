// Requests of a judge to its executor, their timing, and their errors.
#include <algorithm>

#include "core/errors.h"
#include "cpu/fault_findings.h"
#include "executor/error_answers.h"
#include "executor/finding_messages.h"
#include "executor/judge.h"
#include "executor/processor_time.h"
#include "executor/readable_text.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t most_findings_bytes = std::size_t{1} << 26;
// Additional time after a run's limit, until its threads have stopped.
constexpr std::chrono::nanoseconds least_beyond = std::chrono::seconds(2);
constexpr std::chrono::nanoseconds most_beyond = std::chrono::seconds(10);

// Length of a busy handshake. Waking a thread that has slept this long takes as long as after a
// window of work, and longer than immediately.
constexpr std::chrono::nanoseconds busy_handshake = std::chrono::milliseconds(2);

// Windows between checks for child processes of the executor; a check takes longer than a small
// window.
constexpr std::uint32_t windows_for_children = 16;

double ns_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

WaitLimits wait_limits_for(const RunOptions& options) {
  const auto beyond = std::clamp(options.time_limit, least_beyond, most_beyond);
  return until(options.time_limit + beyond, options.interrupted);
}

}  // namespace

Writer Judge::make_busy_request(std::chrono::nanoseconds time) {
  Writer request(Request::ping);
  request.put(std::int64_t{time.count()});
  return request;
}

void Judge::ping() {
  const double observed_ns = time_window(make_busy_request(busy_handshake), {}).observed_ns;
  time_audit_.note_handshake(
      std::max(0.0, observed_ns - static_cast<double>(busy_handshake.count())));
}

WindowTimes Judge::time_window(const Writer& request, const RunOptions& options) {
  check_idle();
  const Clock::time_point start = Clock::now();
  const Message answer = exchange(request, wait_limits_for(options), {});
  WindowTimes window;
  window.observed_ns = ns_since(start);
  note_idle();
  const Message behind = done(answer);
  Reader told(behind);
  try {
    window.reported_ns = told.get<double>();
    told.expect_end();
  } catch (const MalformedMessage& error) {
    raise_malformed(error);
  }
  return window;
}

std::vector<Finding> Judge::request_findings(const Writer& request, const RunOptions& options) {
  const Message answer = done(exchange(request, wait_limits_for(options), {}, most_findings_bytes));
  // Later work of the executor belongs to this request, not to idle time.
  worked_ns_.reset();
  Reader told(answer);
  try {
    std::vector<Finding> found = findings_from(told);
    for (Finding& each : found) {
      if (is_known(each.object)) cpu::place(each, *front_end_);
    }
    return found;
  } catch (const MalformedMessage& error) {
    raise_malformed(error);
  }
}

void Judge::check_idle() {
  const auto now_ns = processor_time_ns(process_->number());
  if (!now_ns || !worked_ns_) return;
  if (idle_checks_++ % windows_for_children == 0 && has_children(process_->number())) {
    throw ForgedTimes(
        "forged times: the kernel's process has started another process, which may work outside of "
        "the windows; its times cannot be used");
  }
  time_audit_.check_idle(*now_ns - *worked_ns_, ns_since(idle_since_));
}

void Judge::note_idle() {
  worked_ns_ = processor_time_ns(process_->number());
  idle_since_ = Clock::now();
}

Message Judge::ask(const Writer& request, const WaitLimits& limits, std::optional<int> descriptor) {
  try {
    const Message answer = exchange(request, limits, descriptor);
    // Later work of the executor belongs to this request, not to idle time.
    worked_ns_.reset();
    return done(answer);
  } catch (const ChannelTimeout&) {
    const bool has_run = sealed_;
    end();
    if (has_run) {
      throw TimeLimitExceeded(
          "the kernel's process does not answer any more, since a kernel ran in it; it was ended");
    }
    throw MachineError(
        "[isolation] a kernel's process does not answer before any kernel has run in it; run "
        "again with less else running");
  }
}

Message Judge::exchange(const Writer& request, const WaitLimits& limits,
                        std::optional<int> descriptor, std::size_t most_bytes) {
  try {
    channel_->send(request.message(), limits, descriptor);
    return channel_->receive(most_bytes, limits).message;
  } catch (const ChannelClosed&) {
    const auto process = std::move(process_);
    const bool ready = ready_;
    end();
    process->raise_end(ready);
    throw;  // unreachable; some compilers require it
  } catch (const MalformedMessage& error) {
    raise_malformed(error);
  } catch (const Interrupted&) {
    end();
    throw;
  }
}

void Judge::raise_malformed(const MalformedMessage& error) {
  const auto process = std::move(process_);
  end();
  process->raise_malformed(error.what());
  throw Error(error.what());  // unreachable; some compilers require it
}

Message Judge::done(const Message& answer) {
  Reader message(answer);
  try {
    const auto kind = message.get<std::uint32_t>();
    if (kind == static_cast<std::uint32_t>(Answer::done)) {
      return {answer.begin() + sizeof kind, answer.end()};
    }
    if (kind > static_cast<std::uint32_t>(last_answer)) throw MalformedMessage("no such answer");
    raise(message, static_cast<Answer>(kind));
  } catch (const MalformedMessage& error) {
    raise_malformed(error);
  }
}

void Judge::raise(Reader& message, Answer kind) {
  const std::string said = readable(message.get_text());
  const std::string path = message.get_text();
  const auto offset = message.get<std::uint64_t>();
  message.expect_end();
  const std::string text = placed(said, path, offset);
  raise_as(kind, text);
}

// Insert file and line into "[kernel] what", and append the line that calls a header's code. The
// executor does not have the files.
std::string Judge::placed(const std::string& text, const std::string& path,
                          std::uint64_t offset) const {
  const std::size_t bracket = text.find("] ");
  if (!is_known(path) || bracket == std::string::npos) return text;
  const auto line = front_end_->symbolize(path, offset);
  if (!line) return text;
  const std::string where = line->file + ":" + std::to_string(line->line) + ": ";
  const std::string call = line->call.empty() ? "" : "; called at " + line->call;
  return text.substr(0, bracket + 2) + where + text.substr(bracket + 2) + call;
}

// Return whether the path is an object of this judge, and not another file.
bool Judge::is_known(const std::string& path) const {
  return std::ranges::any_of(pipelines_, [&](const auto& each) {
    const auto shapes = each->built_shapes();
    return each->kernel.built.path == path ||
           std::ranges::any_of(shapes, [&](const auto& built) { return built.second == path; });
  });
}

}  // namespace metalbench::executor
