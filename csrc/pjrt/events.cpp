#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace {

// A waiting thread first spins for this time, so that it sees the end at once.
constexpr auto busy_wait = std::chrono::milliseconds(1);
constexpr auto rest = std::chrono::microseconds(50);

// Return the error that the event or the submission of its run has. A deferred run has none yet.
Error* error_of(const Event& event) {
  if (event.error) return new Error(*event.error);
  if (event.completion == nullptr || event.completion->is_deferred()) return nullptr;
  const std::optional<Error>& error = event.completion->error();
  return error ? new Error(*error) : nullptr;
}

// Return whether the work has ended. Throws Failure for its error.
bool has_ended(const Marker& marker) {
  if (marker == nullptr) return true;
  bool reached = false;
  check(execution().is_reached(*marker, reached));
  return reached;
}

// Wait for the end. Signals wait, too: the caller relies on the end.
void wait_for(const Marker& marker) {
  const auto begin = std::chrono::steady_clock::now();
  while (!has_ended(marker)) {
    if (std::chrono::steady_clock::now() - begin < busy_wait) continue;
    std::this_thread::sleep_for(rest);
  }
}

// A thread that calls functions when work ends, in the order of their registration, which is that
// of the work.
class Waiter {
 public:
  void add(Marker marker, ReadyCallback callback, void* user) {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      // It ends with the process.
      std::thread([this] { main(); }).detach();
      started_ = true;
    }
    waiting_.push_back({std::move(marker), callback, user});
    added_.notify_one();
  }

 private:
  struct Entry {
    Marker marker;
    ReadyCallback callback;
    void* user;
  };

  [[noreturn]] void main() {
    while (true) {
      std::unique_lock lock(mutex_);
      added_.wait(lock, [this] { return !waiting_.empty(); });
      const Entry entry = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Error* error = nullptr;
      try {
        wait_for(entry.marker);
      } catch (const Failure& failure) {
        error = new Error{failure.code, failure.what()};
      }
      entry.callback(error, entry.user);
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Entry> waiting_;
  bool started_ = false;
};

// Never destroyed: its thread runs until the process ends.
Waiter& waiter() {
  static auto* const one = new Waiter;
  return *one;
}

void destroy_event(Only<Event>& arguments) { destroy_given(arguments.of, "an event"); }

void is_ready(Ask<Event, bool>& arguments) {
  const Event& event = given(arguments.of, "an event");
  try {
    // A loop may ask until it is ready. After Ctrl-C it would go on, unless Python may raise.
    arguments.out = event.error || event.completion == nullptr || !event.completion->try_submit() ||
                    event.completion->error() || has_ended(event.completion->marker());
  } catch (const Failure&) {
    // Failed work has ended, too; PJRT_Event_Error returns its error.
    arguments.out = true;
  }
}

// Waits for the event. Returns its error, or the error of this call.
template <Function function>
Error* outcome(void* raw) noexcept {
  try {
    check_size(static_cast<const Head*>(raw), sizeof(Only<Event>), alignof(Only<Event>));
    const Event& event = given(static_cast<Only<Event>*>(raw)->of, "an event");
    // After Ctrl-C, Python raises its exception when this call returns, but only if it succeeds.
    // The elements can still be computed later.
    if (!event.error && event.completion != nullptr && event.completion->try_submit()) {
      const WithoutGil released;
      if (!event.completion->error()) wait_for(event.completion->marker());
    }
    return error_of(event);
  } catch (...) {
    return caught(function);
  }
}

void on_ready(EventOnReady& arguments) {
  const Event& event = given(arguments.event, "an event");
  if (arguments.callback == nullptr) given<Event>(nullptr, "a callback");
  if (event.error || event.completion == nullptr) {
    arguments.callback(error_of(event), arguments.user);
    return;
  }
  // The event may be destroyed meanwhile.
  const std::shared_ptr<Completion> completion = event.completion;
  if (event.is_awaited && !completion->try_submit()) {
    arguments.callback(nullptr, arguments.user);
  } else {
    completion->when_ended(arguments.callback, arguments.user);
  }
}

}  // namespace

void call_at_end(Marker marker, ReadyCallback callback, void* user) {
  waiter().add(std::move(marker), callback, user);
}

void define_events(Api& api) {
  define<Function::Event_Destroy, &destroy_event>(api);
  define<Function::Event_IsReady, &is_ready>(api);
  define<Function::Event_OnReady, &on_ready>(api);
  api.functions[static_cast<int>(Function::Event_Error)] = &outcome<Function::Event_Error>;
  api.functions[static_cast<int>(Function::Event_Await)] = &outcome<Function::Event_Await>;
}

}  // namespace metalbench::pjrt
