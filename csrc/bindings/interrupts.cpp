#include <atomic>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

// A thread that requests the GIL after Python has begun to finalise is terminated there. Abandoned
// GPU work may end that late, and then releases its objects.
class PendingRelease {
 public:
  PendingRelease() { ++running_; }
  ~PendingRelease() {
    if (--running_ == 0) running_.notify_all();
  }
  PendingRelease(const PendingRelease&) = delete;
  PendingRelease& operator=(const PendingRelease&) = delete;

  // Check after incrementing the counter: then either end() waits for it, or it sees the end.
  [[nodiscard]] bool may_be() const { return !ended_; }

  // Wait until no release is running. Call without the GIL.
  static void end() {
    ended_ = true;
    for (int left = running_; left != 0; left = running_) running_.wait(left);
  }

 private:
  inline static std::atomic<int> running_ = 0;
  inline static std::atomic<bool> ended_ = false;
};

std::atomic<unsigned long> main_thread = 0;

}  // namespace

void note_main_thread() {
  const auto note = [] {
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(main.attr("ident"));
  };
  note();
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function(note));
}

InterruptPoll poll_signals() {
  return [] {
    // Python handles signals in its main thread only. Other threads need not wait for the GIL.
    if (PyThread_get_thread_ident() != main_thread) return false;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
}

std::shared_ptr<void> keep_alive(nb::object object) {
  auto* held = new nb::object(std::move(object));
  return {held, [](void* pointer) {
            const PendingRelease release;
            if (!release.may_be()) return;
            const nb::gil_scoped_acquire gil;
            delete static_cast<nb::object*>(pointer);
          }};
}

void release_nothing_at_exit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    const nb::gil_scoped_release released;
    PendingRelease::end();
  }));
}

}  // namespace metalbench::bindings
