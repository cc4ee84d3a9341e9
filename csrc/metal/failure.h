// Why a window failed, as the user sees it.
#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <string>

#include "metal/completion.h"

namespace metalbench::metal {

// Throws unless the command buffer was run to its end: KernelFault, TimeLimitExceeded when Metal's
// own watchdog ended it, Disturbed when it was ended for the sake or the fault of others, Error
// when Metal lacked something. `names` are the kernels'.
void check(const Completion& completion, const std::string& names);

[[noreturn]] void time_is_up(std::chrono::nanoseconds limit, const std::string& names);

}  // namespace metalbench::metal
