#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

bool python_runs() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

void PythonReference::release() {
  const nanobind::handle object = std::exchange(object_, {});
  if (!object.is_valid() || !python_runs()) return;
  nanobind::gil_scoped_acquire held;
  object.dec_ref();
}

}  // namespace metalbench::pjrt
