#include "metal/failure.h"

#include <cstdio>

#include "core/errors.h"
#include "metal/errors.h"

namespace metalbench::metal {

void check(const Completion& completion, const std::string& names) {
  if (completion.status == MTLCommandBufferStatusCompleted && completion.error == nil) return;
  const std::string text = "[" + names + "] " + describe(completion.error);
  switch (completion.error.code) {
    case MTLCommandBufferErrorTimeout:
      throw TimeLimitExceeded(text);
    case MTLCommandBufferErrorOutOfMemory:
      throw OutOfMemoryError(text + "; use smaller sizes, or free other buffers");
    default:
      throw KernelFault(text);
  }
}

void time_is_up(std::chrono::nanoseconds limit, const std::string& names) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", std::chrono::duration<double>(limit).count());
  throw TimeLimitExceeded("time limit of " + std::string(seconds) +
                          " s reached: the GPU is still busy with [" + names +
                          "]; it hangs, or is too slow for it");
}

}  // namespace metalbench::metal
