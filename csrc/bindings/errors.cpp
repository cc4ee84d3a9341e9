#include "core/errors.h"

#include "bindings/bindings.h"

namespace metalbench::bindings {

namespace {

// Base classes: ours, and the standard Python error for the same mistake.
nb::tuple both(const nb::handle& ours, PyObject* pythons) {
  return nb::make_tuple(ours, nb::handle(pythons));
}

}  // namespace

void define_errors(nb::module_& module) {
  // Translators registered later are asked first, so register base classes first.
  auto root = nb::exception<Error>(module, "Error");
  root.doc() = "Base class of all errors that metalbench raises.";
  nb::exception<CompileError>(module, "CompileError", both(root, PyExc_ValueError)).doc() =
      "The source does not compile; the message is the compiler's own.";
  nb::exception<Unsupported>(module, "Unsupported", root).doc() =
      "This device or machine does not support the operation; the message gives reason and remedy.";
  auto machine = nb::exception<MachineError>(module, "MachineError", root);
  machine.doc() = "The machine failed, for any kernel: memory, disk, or a missing program.";
  nb::exception<OutOfMemoryError>(module, "OutOfMemoryError", both(machine, PyExc_MemoryError))
      .doc() = "Not enough memory or address space on this machine.";
  auto dispatch =
      nb::exception<DispatchError>(module, "DispatchError", both(root, PyExc_ValueError));
  dispatch.doc() = "Arguments or sizes of a dispatch do not fit the kernel or the device.";
  nb::exception<ArgumentTypeError>(module, "ArgumentTypeError", both(dispatch, PyExc_TypeError))
      .doc() = "An argument of a dispatch has a type that the kernel does not accept.";
  nb::exception<KernelFault>(module, "KernelFault", root).doc() =
      "The kernel did something undefined: out of bounds, a race, a crash.";
  nb::exception<TimeLimitExceeded>(module, "TimeLimitExceeded", root).doc() =
      "The kernels did not end within the time limit and were stopped.";
  nb::exception<ForgedTimes>(module, "ForgedTimes", root).doc() =
      "The times that the kernel's process reports contradict the time that has passed.";
  nb::exception<Disturbed>(module, "Disturbed", root).doc() =
      "The system ended a run, or another library of this process has lost the GPU. The kernel "
      "is not the cause, and the same run may succeed in another process.";
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Interrupted&) {
      // poll_signals left Python's own exception set; it must not be replaced.
      if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace metalbench::bindings
