// Start Python in a process without it: a program in C that loads the plugin.
#include <Python.h>

#include <mutex>

#include "pjrt/errors.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

namespace {

const char* started(const char* path) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  // The program handles its signals.
  config.install_signal_handlers = 0;
  // Python finds its environment from the path of its executable.
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, path);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return status.err_msg != nullptr ? status.err_msg : "it exits";
  PyEval_SaveThread();
  return nullptr;
}

// Importing the module initialises this library.
const char* imported() {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* module = PyImport_ImportModule("metalbench.hlo.plugin._pjrt");
  if (module == nullptr) PyErr_Print();
  Py_XDECREF(module);
  PyGILState_Release(state);
  if (module == nullptr) return "it does not import metalbench.hlo.plugin";
  return is_imported() ? nullptr : "metalbench of another place is installed for it";
}

}  // namespace

}  // namespace metalbench::pjrt

// Starts the interpreter at `path` unless Python runs. Returns a message on failure, else null. The
// GIL is released afterwards if the interpreter was started here.
extern "C" __attribute__((visibility("default"))) const char* metalbench_start_python(
    const char* path) {
  static std::mutex once;
  const std::lock_guard lock(once);
  const char* wrong = Py_IsInitialized() ? nullptr : metalbench::pjrt::started(path);
  return wrong != nullptr ? wrong : metalbench::pjrt::imported();
}
