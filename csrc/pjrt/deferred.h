// Execution that waits until something needs a result.
//
// JAX runs each operation outside of `jit` as a program. Small programs whose kernels are not
// compiled yet are deferred, so that the kernels of many programs are compiled together. A deferred
// program whose results are dropped is neither compiled nor run.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/execution_api.h"
#include "pjrt/abi.h"
#include "pjrt/errors.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

using Marker = std::shared_ptr<QueueMarker>;

struct Compiled;
class DeferredRuns;

// The end of a run, which may be deferred. Any thread may call the functions.
class Completion {
 public:
  // Of work that was submitted; without a marker it has ended.
  explicit Completion(Marker marker, std::optional<Error> error = std::nullopt)
      : marker_(std::move(marker)), error_(std::move(error)) {}
  // Of a run that is deferred.
  explicit Completion(std::weak_ptr<DeferredRuns> runs)
      : runs_(std::move(runs)), is_deferred_(true) {}

  [[nodiscard]] bool is_deferred() const { return is_deferred_; }
  // Submit the run if it is deferred. Throws Failure if Ctrl-C interrupts that, after which the run
  // is still deferred, or if this thread is submitting it already.
  void submit();
  // The same; return false if Ctrl-C interrupts it.
  [[nodiscard]] bool try_submit();
  // Of a run that is not deferred: its end, and the error without which it was submitted.
  [[nodiscard]] const Marker& marker() const { return marker_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  // End the deferral, and call the functions that were added.
  void set(Marker marker, std::optional<Error> error);
  // Call a function at the end of the run; a deferred run remains deferred.
  void when_ended(ReadyCallback callback, void* user);

 private:
  void notify(ReadyCallback callback, void* user) const;

  std::mutex mutex_;
  std::weak_ptr<DeferredRuns> runs_;
  std::atomic<bool> is_deferred_ = false;
  std::vector<std::pair<ReadyCallback, void*>> callbacks_;
  Marker marker_;
  std::optional<Error> error_;
};

// Elements, which a deferred run may have yet to compute. They have memory unless their run is
// deferred or has failed.
struct Value {
  Value(std::optional<metalbench::Buffer> memory, std::shared_ptr<Completion> completion)
      : memory(std::move(memory)), completion(std::move(completion)) {}
  std::optional<metalbench::Buffer> memory;
  std::shared_ptr<Completion> completion;
};

struct DeferredRun {
  std::shared_ptr<const Compiled> compiled;
  std::vector<std::shared_ptr<Value>> arguments;
  std::vector<std::shared_ptr<Value>> results;
  std::shared_ptr<Completion> completion;
  std::size_t bytes = 0;  // of the results
};

// The deferred runs of a client, in order. Any thread may call the functions.
class DeferredRuns : public std::enable_shared_from_this<DeferredRuns> {
 public:
  // `runtime` is the client of Python, which compiles the programs.
  explicit DeferredRuns(PythonReference runtime) : runtime_(std::move(runtime)) {}

  // Defer a run. Earlier runs are submitted if they are too many.
  void add(DeferredRun run);
  // Compile and submit all runs whose results are still needed. Their errors become those of their
  // completions. Return the error of Ctrl-C if that interrupts it; the other runs stay deferred.
  std::optional<Error> submit();
  // End all runs with an error: the client ends.
  void cancel();

 private:
  [[nodiscard]] std::deque<DeferredRun> take_runs();
  [[nodiscard]] std::optional<Error> compile(const std::deque<DeferredRun>& runs);
  [[nodiscard]] std::optional<Error> submit_first(std::deque<DeferredRun>& runs);

  PythonReference runtime_;
  std::recursive_mutex submission_;  // of the thread that submits runs
  bool is_submitting_ = false;       // under submission_
  std::mutex mutex_;                 // of the members below
  std::deque<DeferredRun> runs_;
  std::size_t bytes_ = 0;
};

// Call a function when work ends, on another thread.
void call_at_end(Marker marker, ReadyCallback callback, void* user);

}  // namespace metalbench::pjrt
