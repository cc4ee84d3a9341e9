#include "pjrt/deferred.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

// Limits of the results' bytes, which are not in memory yet, and of the programs of a batch.
constexpr std::size_t most_bytes = std::size_t{1} << 28;
constexpr std::size_t most_runs = 512;

// Return whether nothing but the run refers to its results.
bool is_dropped(const DeferredRun& run) {
  return std::ranges::all_of(run.results, [](const auto& value) { return value.use_count() == 1; });
}

// Return the memory of the arguments, or the error of the run that should have computed one.
// Memory that nothing else needs is moved, so that the program may overwrite it.
std::optional<Error> take_arguments(DeferredRun& run, std::vector<metalbench::Buffer>& memory) {
  for (std::shared_ptr<Value>& value : run.arguments) {
    if (value->completion->error()) return value->completion->error();
    memory.push_back(value.use_count() == 1 ? std::move(*value->memory) : *value->memory);
    value.reset();
  }
  return std::nullopt;
}

bool is_cancelled(const std::optional<Error>& error) {
  return error && error->code == Code::kCancelled;
}

}  // namespace

void Completion::submit() {
  if (!is_deferred()) return;
  std::optional<Error> interruption;
  if (const auto runs = runs_.lock()) interruption = runs->submit();
  if (!is_deferred()) return;
  if (interruption) throw Failure(interruption->code, interruption->message);
  throw Failure(Code::kFailedPrecondition,
                "expected an array that is computed, got one of a program that this thread is "
                "compiling, or whose client has ended");
}

bool Completion::try_submit() {
  try {
    submit();
    return true;
  } catch (const Failure& failure) {
    if (failure.code != Code::kCancelled) throw;
    return false;
  }
}

void Completion::set(Marker marker, std::optional<Error> error) {
  std::vector<std::pair<ReadyCallback, void*>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    marker_ = std::move(marker);
    error_ = std::move(error);
    is_deferred_ = false;
    callbacks.swap(callbacks_);
  }
  for (const auto& [callback, user] : callbacks) notify(callback, user);
}

void Completion::when_ended(ReadyCallback callback, void* user) {
  {
    const std::lock_guard lock(mutex_);
    if (is_deferred_) {
      callbacks_.push_back({callback, user});
      return;
    }
  }
  notify(callback, user);
}

void Completion::notify(ReadyCallback callback, void* user) const {
  if (error_ || marker_ == nullptr) {
    callback(error_ ? new Error(*error_) : nullptr, user);
  } else {
    call_at_end(marker_, callback, user);
  }
}

void DeferredRuns::add(DeferredRun run) {
  bool is_full;
  {
    const std::lock_guard lock(mutex_);
    is_full = runs_.size() >= most_runs || (!runs_.empty() && bytes_ + run.bytes > most_bytes);
  }
  // After Ctrl-C, Python raises its exception when the caller returns.
  if (is_full) (void)submit();
  const std::lock_guard lock(mutex_);
  bytes_ += run.bytes;
  runs_.push_back(std::move(run));
}

std::deque<DeferredRun> DeferredRuns::take_runs() {
  const std::lock_guard lock(mutex_);
  bytes_ = 0;
  return std::exchange(runs_, {});
}

std::optional<Error> DeferredRuns::submit() {
  const WithoutGil released;
  const std::lock_guard submission(submission_);
  // This thread is here already, and has taken runs that later ones need: a callback or a handler
  // of a signal has asked for a result.
  if (is_submitting_) return std::nullopt;
  is_submitting_ = true;
  const auto end = [this](void*) { is_submitting_ = false; };
  const std::unique_ptr<void, decltype(end)> submitting(this, end);
  std::deque<DeferredRun> runs = take_runs();
  // The results of a dropped run may be the last references to those of an earlier one.
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!is_dropped(*run)) continue;
    run->completion->set(nullptr, std::nullopt);
    *run = {};
  }
  std::erase_if(runs, [](const DeferredRun& run) { return run.compiled == nullptr; });
  std::optional<Error> interruption = compile(runs);
  while (!interruption && !runs.empty()) interruption = submit_first(runs);
  if (!runs.empty()) {
    const std::lock_guard lock(mutex_);
    for (const DeferredRun& run : runs) bytes_ += run.bytes;
    runs_.insert(runs_.begin(), std::make_move_iterator(runs.begin()),
                 std::make_move_iterator(runs.end()));
  }
  return interruption;
}

// Errors of single programs are raised by Compiled::plan().
std::optional<Error> DeferredRuns::compile(const std::deque<DeferredRun>& runs) {
  std::vector<const Compiled*> programs;
  for (const DeferredRun& run : runs) {
    if (!run.compiled->has_plan()) programs.push_back(run.compiled.get());
  }
  if (programs.empty()) return std::nullopt;
  try {
    const WithGil held;
    nb::list listed;
    for (const Compiled* each : programs) listed.append(each->program.get());
    runtime_.get().attr("compile_kernels")(listed);
  } catch (...) {
    std::optional<Error> error = current_error();
    if (is_cancelled(error)) return error;
  }
  return std::nullopt;
}

// Submit the first run and remove it, unless Ctrl-C interrupts its compilation.
std::optional<Error> DeferredRuns::submit_first(std::deque<DeferredRun>& runs) {
  DeferredRun& run = runs.front();
  std::optional<Error> error, interruption;
  ExecutionPlan* plan = nullptr;
  try {
    plan = &run.compiled->plan();
  } catch (...) {
    error = current_error();
    if (is_cancelled(error)) return error;
  }
  std::vector<metalbench::Buffer> memory, found;
  Marker end;
  if (!error) error = take_arguments(run, memory);
  if (!error) {
    if (const auto outcome = execution().execute(*plan, std::move(memory), found, end)) {
      error = {static_cast<Code>(outcome->code), outcome->message};
      if (is_cancelled(error)) interruption = error;
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) run.results[i]->memory = std::move(found[i]);
  const std::shared_ptr<Completion> completion = run.completion;
  // Later runs can take memory that only they need.
  runs.pop_front();
  completion->set(std::move(end), std::move(error));
  return interruption;
}

void DeferredRuns::cancel() {
  for (DeferredRun& run : take_runs()) {
    run.completion->set(nullptr, Error{Code::kCancelled, "the client ended before the program"});
  }
}

}  // namespace metalbench::pjrt
