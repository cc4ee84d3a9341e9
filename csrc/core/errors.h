// What can go wrong, as the user sees it. Python has one exception class for each of these.
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

// This device or machine cannot do it; what() says why and what would help.
class Unsupported : public Error {
 public:
  using Error::Error;
};

// The machine cannot, whatever the kernel is: its memory, its disk or a program that is missing.
class MachineError : public Error {
 public:
  using Error::Error;
};

// Memory or address space does not suffice; Python's MemoryError.
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

// The kernel did what no kernel may: touched foreign memory, raced, crashed.
class KernelFault : public Error {
 public:
  using Error::Error;
};

// The system ended a run for what others did, or for others to go on: no kernel is to blame, and
// the same run may well succeed. What it had written is undefined.
class Disturbed : public Error {
 public:
  using Error::Error;
};

class TimeLimitExceeded : public Error {
 public:
  using Error::Error;
};

// A process reports times that cannot be, or goes on working when it has said that it is done.
class ForgedTimes : public Error {
 public:
  using Error::Error;
};

// The user pressed Ctrl-C; the bindings have the Python exception already.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace metalbench
