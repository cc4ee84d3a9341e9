#include "executor/error_answers.h"

#include "core/errors.h"

namespace metalbench::executor {

void raise_as(Answer kind, const std::string& text) {
  switch (kind) {
    case Answer::kernel_fault:
      throw KernelFault(text);
    case Answer::time_limit:
      throw TimeLimitExceeded(text);
    case Answer::dispatch_error:
      throw DispatchError(text);
    case Answer::unsupported:
      throw Unsupported(text);
    case Answer::out_of_memory:
      throw OutOfMemoryError(text);
    case Answer::machine_error:
      throw MachineError(text);
    case Answer::done:
    case Answer::error:
      break;
  }
  throw Error(text);
}

}  // namespace metalbench::executor
