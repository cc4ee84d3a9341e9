#include "metal/failure.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "core/errors.h"
#include "metal/errors.h"

namespace metalbench::metal {
namespace {

// Return why an end is not the kernel's fault. Metal has codes for few of these cases; otherwise
// the message contains the driver's name for it, see MTLCommandBuffer.h.
const char* why_innocent(NSError* error) {
  constexpr const char* ignored = "macOS rejects work for a while after GPU faults";
  constexpr std::pair<std::string_view, const char*> known[] = {
      {"CallbackErrorInnocentVictim", "the fault of other work stopped the GPU"},
      {"CallbackErrorSubmissionsIgnored", ignored},
      {"CallbackErrorImpactingInteractivity", "macOS needed the GPU for the screen"},
  };
  const std::string words = describe(error);
  for (const auto& [name, reason] : known) {
    if (words.find(name) != std::string::npos) return reason;
  }
  return error.code == MTLCommandBufferErrorAccessRevoked ? ignored : nullptr;
}

}  // namespace

void check(const Completion& completion, const std::string& names) {
  if (completion.status == MTLCommandBufferStatusCompleted && completion.error == nil) return;
  const std::string where = "[" + names + "] ";
  // Codes are valid only within their domain.
  if (completion.error != nil &&
      ![completion.error.domain isEqualToString:MTLCommandBufferErrorDomain]) {
    throw KernelFault(where + describe_with_code(completion.error));
  }
  const std::string text = where + describe(completion.error);
  if (const char* reason = why_innocent(completion.error)) {
    throw Disturbed(text + ": " + reason + "; the kernel is not to blame, run it again");
  }
  // The driver's name for a stopped kernel that did not end; Metal has no code for it.
  if (text.find("CallbackErrorHang") != std::string::npos) throw TimeLimitExceeded(text);
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
