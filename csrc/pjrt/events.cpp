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

Error* error_of(const Event& event) { return event.error ? new Error(*event.error) : nullptr; }

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

void destroy(Only<Event>& arguments) { destroy_given(arguments.of, "an event"); }

void is_ready(Ask<Event, bool>& arguments) {
  const Event& event = given(arguments.of, "an event");
  try {
    arguments.out = event.error || has_ended(event.marker);
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
    if (!event.error) {
      const WithoutGil released;
      wait_for(event.marker);
    }
    return error_of(event);
  } catch (...) {
    return caught(function);
  }
}

void on_ready(EventOnReady& arguments) {
  const Event& event = given(arguments.event, "an event");
  if (arguments.callback == nullptr) given<Event>(nullptr, "a callback");
  if (event.error || event.marker == nullptr) {
    arguments.callback(error_of(event), arguments.user);
  } else {
    waiter().add(event.marker, arguments.callback, arguments.user);
  }
}

}  // namespace

void define_events(Api& api) {
  define<Function::Event_Destroy, &destroy>(api);
  define<Function::Event_IsReady, &is_ready>(api);
  define<Function::Event_OnReady, &on_ready>(api);
  api.functions[static_cast<int>(Function::Event_Error)] = &outcome<Function::Event_Error>;
  api.functions[static_cast<int>(Function::Event_Await)] = &outcome<Function::Event_Await>;
}

}  // namespace metalbench::pjrt
