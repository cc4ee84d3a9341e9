#include "metal/failure.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "core/errors.h"
#include "metal/errors.h"

namespace metalbench::metal {
namespace {

// Codes of errors, which are valid only within their domain.
struct Codes {
  NSString* domain;
  NSInteger timeout;
  NSInteger out_of_memory;
  NSInteger access_revoked;
};

// Those of Metal 4 are in MTL4CommandQueue.h.
Codes codes_of(NSError* error) {
  NSString* const metal4 = @"MTL4CommandQueueErrorDomain";
  if ([error.domain isEqualToString:metal4]) return {metal4, 1, 3, 5};
  return {MTLCommandBufferErrorDomain, MTLCommandBufferErrorTimeout,
          MTLCommandBufferErrorOutOfMemory, MTLCommandBufferErrorAccessRevoked};
}

// Return why an end is not the kernel's fault. Metal has codes for few of these cases; otherwise
// the message contains the driver's name for it, see MTLCommandBuffer.h.
const char* why_innocent(NSError* error, const Codes& codes) {
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
  return error.code == codes.access_revoked ? ignored : nullptr;
}

}  // namespace

void check(const Completion& completion, const std::string& names) {
  if (completion.status == MTLCommandBufferStatusCompleted && completion.error == nil) return;
  const std::string where = "[" + names + "] ";
  const Codes codes = codes_of(completion.error);
  if (completion.error != nil && ![completion.error.domain isEqualToString:codes.domain]) {
    throw KernelFault(where + describe_with_code(completion.error));
  }
  const std::string text = where + describe(completion.error);
  if (const char* reason = why_innocent(completion.error, codes)) {
    throw Disturbed(text + ": " + reason + "; the kernel is not to blame, run it again");
  }
  // The driver's name for a stopped kernel that did not end; Metal has no code for it.
  if (text.find("CallbackErrorHang") != std::string::npos) throw TimeLimitExceeded(text);
  if (completion.error.code == codes.timeout) throw TimeLimitExceeded(text);
  if (completion.error.code == codes.out_of_memory) {
    throw OutOfMemoryError(text + "; use smaller sizes, or free other buffers");
  }
  throw KernelFault(text);
}

void time_is_up(std::chrono::nanoseconds limit, const std::string& names) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", std::chrono::duration<double>(limit).count());
  throw TimeLimitExceeded("time limit of " + std::string(seconds) +
                          " s reached: the GPU is still busy with [" + names +
                          "]; it hangs, or is too slow for it");
}

}  // namespace metalbench::metal
