#include "pjrt/python_reference.h"

#include "pjrt/objects.h"

namespace metalbench::pjrt {

bool python_runs() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

WithoutGil::WithoutGil()
    : state_(python_runs() && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}

WithoutGil::~WithoutGil() {
  if (state_ != nullptr) PyEval_RestoreThread(state_);
}

void PythonReference::release() {
  const nanobind::handle object = std::exchange(object_, {});
  if (!object.is_valid() || !python_runs()) return;
  nanobind::gil_scoped_acquire held;
  object.dec_ref();
}

const ExecutionApi& execution() {
  // Opening a client imports metalbench._core, so the GIL is held here for the first time only.
  static const ExecutionApi* const api = [] {
    const nanobind::gil_scoped_acquire held;
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
