// Errors that users see. The bindings map each class to one Python exception.
#pragma once

#include <stdexcept>
#include <string>

namespace metalbench {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The source does not compile; what() is the compiler's own text.
class CompileError : public Error {
 public:
  using Error::Error;
};

// This device or machine does not support the operation; what() gives the reason and a remedy.
class Unsupported : public Error {
 public:
  using Error::Error;
};

// The machine fails for any kernel: memory, disk, or a missing program.
class MachineError : public Error {
 public:
  using Error::Error;
};

// Not enough memory or address space; Python's MemoryError.
class OutOfMemoryError : public MachineError {
 public:
  using MachineError::MachineError;
};

// Arguments or sizes of a dispatch do not fit the kernel or the device.
class DispatchError : public Error {
 public:
  using Error::Error;
};

// A value of a type that cannot be bound; Python's TypeError.
class ArgumentTypeError : public DispatchError {
 public:
  using DispatchError::DispatchError;
};

// The kernel did something undefined: an access outside of its buffers, a race, a crash.
class KernelFault : public Error {
 public:
  using Error::Error;
};

// The system ended a run in favour of other work, or another library of this process has lost the
// GPU. The kernel is not the cause, and the same run may succeed in another process. The contents
// of output buffers are undefined.
class Disturbed : public Error {
 public:
  using Error::Error;
};

class TimeLimitExceeded : public Error {
 public:
  using Error::Error;
};

// A process reports impossible times, or continues to work after it has reported completion.
class ForgedTimes : public Error {
 public:
  using Error::Error;
};

// The user pressed Ctrl-C; the bindings hold the Python exception already.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace metalbench
