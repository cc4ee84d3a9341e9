// Exceptions of Python that a function in C cannot return, such as KeyboardInterrupt.
#pragma once

#include <nanobind/nanobind.h>

namespace metalbench {

// Return whether an exception ends the program rather than a call, as KeyboardInterrupt does, and
// is one of the main thread. Requires the GIL.
[[nodiscard]] inline bool must_be_deferred(const nanobind::python_error& error) {
  if (error.matches(PyExc_Exception)) return false;
  const nanobind::module_ threading = nanobind::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

// Raise an exception of the main thread as soon as Python runs there again. Requires the GIL.
inline void raise_later(const nanobind::python_error& error) {
  PyObject* exception = nanobind::object(nanobind::borrow(error.value())).release().ptr();
  const auto raise = [](void* pointer) {
    auto* raised = static_cast<PyObject*>(pointer);
    // The error of the interrupted call is not the cause.
    PyException_SetCause(raised, nullptr);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
    Py_DECREF(raised);
    return -1;
  };
  if (Py_AddPendingCall(raise, exception) == 0) return;
  // Too many calls are pending. The handler of Ctrl-C runs again instead.
  Py_DECREF(exception);
  PyErr_SetInterrupt();
}

}  // namespace metalbench
