// References to Python objects that C++ holds, on any thread.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace metalbench::pjrt {

// The Python module that implements this library's functions.
inline constexpr const char* kRuntime = "metalbench.hlo.plugin.runtime";

// Returns whether Python is still running: JAX releases its last objects during finalisation.
[[nodiscard]] bool python_runs();
// Returns whether this library was imported as a Python module, which it needs to call Python.
[[nodiscard]] bool is_imported();
void set_imported();

// Holds the GIL for its lifetime. Python terminates other threads that request it while it ends,
// which aborts a process whose C++ code is on their stacks. So Python first waits for the threads
// that hold this object, and the constructor throws Failure on other threads after that.
class WithGil {
 public:
  WithGil() = default;
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  struct Use {
    Use();
    ~Use();
  };

  Use use_;
  nanobind::gil_scoped_acquire held_;
};

// Interrupts the Python code of other threads, and waits until none of them holds a WithGil, or for
// a minute. Called by Python when it begins to end.
void end_other_threads();

// Releases the GIL for its lifetime, if the calling thread holds it. A thread that waits for the
// queue must not hold it: the queue's thread may need it to poll signals.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Released with the GIL held; leaked once Python ends.
class PythonReference {
 public:
  PythonReference() = default;
  explicit PythonReference(nanobind::object object) : object_(object.release()) {}
  PythonReference(PythonReference&& other) noexcept : object_(std::exchange(other.object_, {})) {}
  PythonReference& operator=(PythonReference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  PythonReference(const PythonReference&) = delete;
  PythonReference& operator=(const PythonReference&) = delete;
  ~PythonReference() { release(); }

  void release();
  // Requires the GIL.
  [[nodiscard]] nanobind::object get() const { return nanobind::borrow(object_); }

 private:
  nanobind::handle object_;
};

}  // namespace metalbench::pjrt
