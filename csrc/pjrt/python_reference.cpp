#include "pjrt/python_reference.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

bool python_runs() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

namespace {

// Compilers that run when Python ends take seconds.
constexpr auto longest_wait = std::chrono::seconds(60);

// Threads that hold a WithGil. Never destroyed: JAX releases its last objects when the process
// exits.
struct Threads {
  std::mutex mutex;
  std::condition_variable left;
  std::map<unsigned long, int> uses;  // by thread
  bool ended = false;
  unsigned long ending = 0;  // the thread that ends Python
};

Threads& threads() {
  static auto* const one = new Threads;
  return *one;
}

}  // namespace

WithGil::Use::Use() {
  const std::lock_guard lock(threads().mutex);
  int& uses = threads().uses[PyThread_get_thread_ident()];
  if (threads().ended && uses == 0 && PyThread_get_thread_ident() != threads().ending) {
    threads().uses.erase(PyThread_get_thread_ident());
    throw Failure(Code::kCancelled, "Python ends");
  }
  ++uses;
}

WithGil::Use::~Use() {
  const std::lock_guard lock(threads().mutex);
  const auto own = threads().uses.find(PyThread_get_thread_ident());
  if (--own->second == 0) threads().uses.erase(own);
  threads().left.notify_all();
}

void end_other_threads() {
  const unsigned long own = PyThread_get_thread_ident();
  std::vector<unsigned long> others;
  {
    const std::lock_guard lock(threads().mutex);
    threads().ending = own;
    threads().ended = true;
    for (const auto& [thread, uses] : threads().uses) {
      if (thread != own) others.push_back(thread);
    }
  }
  for (const unsigned long each : others) PyThreadState_SetAsyncExc(each, PyExc_KeyboardInterrupt);
  const nanobind::gil_scoped_release released;
  std::unique_lock lock(threads().mutex);
  // A thread may wait for a program that never ends.
  threads().left.wait_for(lock, longest_wait, [own] {
    return std::ranges::all_of(threads().uses, [own](const auto& use) { return use.first == own; });
  });
}

WithoutGil::WithoutGil()
    : state_(python_runs() && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}

WithoutGil::~WithoutGil() {
  if (state_ != nullptr) PyEval_RestoreThread(state_);
}

void PythonReference::release() {
  const nanobind::handle object = std::exchange(object_, {});
  if (!object.is_valid() || !python_runs()) return;
  try {
    const WithGil held;
    object.dec_ref();
  } catch (const Failure&) {
    // Python ends without the object.
  }
}

const ExecutionApi& execution() {
  // Opening a client imports metalbench._core, so the GIL is held here for the first time only.
  static const ExecutionApi* const api = [] {
    const WithGil held;
    const nanobind::object capsule =
        nanobind::module_::import_("metalbench._core").attr("_execution_api");
    return static_cast<const ExecutionApi*>(PyCapsule_GetPointer(capsule.ptr(), kExecutionApi));
  }();
  return *api;
}

void check(const ExecutionApi::Outcome& outcome) {
  if (outcome) throw Failure(static_cast<Code>(outcome->code), outcome->message);
}

}  // namespace metalbench::pjrt
