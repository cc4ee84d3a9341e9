// Errors of failed windows.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <string>

#include "metal/completion.h"

namespace metalbench::metal {

// Throw unless the command buffers completed: KernelFault; TimeLimitExceeded if Metal's watchdog
// ended them; Disturbed if other work caused the end; Error if Metal lacked a resource. `names` are
// the kernels'.
void check(const Completion& completion, const std::string& names);

[[noreturn]] void time_is_up(std::chrono::nanoseconds limit, const std::string& names);

}  // namespace metalbench::metal
