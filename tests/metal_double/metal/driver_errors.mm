#include "driver_errors.h"

#import <Metal/Metal.h>

#include "control.h"
#include "errors.h"

namespace metal_double {
namespace {

const char* metals_words(int code) {
  switch (code) {
    case MTLCommandBufferErrorTimeout:
      return "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)";
    case MTLCommandBufferErrorPageFault:
      return "Caused GPU Address Fault Error "
             "(0000000b:kIOGPUCommandBufferCallbackErrorPageFault)";
    case MTLCommandBufferErrorAccessRevoked:
      return "Ignored (for causing prior/excessive GPU errors) "
             "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
    case MTLCommandBufferErrorOutOfMemory:
      return "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)";
    case MTLCommandBufferErrorInvalidResource:
      return "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)";
    case MTLCommandBufferErrorNotPermitted:
      return "Insufficient Permission (to submit GPU work from background) "
             "(00000006:kIOGPUCommandBufferCallbackErrorBackgroundExecutionNotPermitted)";
    case MTLCommandBufferErrorMemoryless:
      return "Memoryless Texture Overflow";
    case MTLCommandBufferErrorDeviceRemoved:
      return "Device Removed";
    case MTLCommandBufferErrorStackOverflow:
      return "Stack Overflow";
    case submissions_ignored:
      return "Ignored (for causing prior/excessive GPU errors) "
             "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
    case gpu_hang:
      return "Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)";
    case innocent_victim:
      return "Discarded (victim of GPU error/recovery) "
             "(00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)";
    case impacting_interactivity:
      return "Impacting Interactivity "
             "(0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)";
    default:
      return "Internal Error (0000000e:Internal Error)";
  }
}

}  // namespace

bool is_fault(int code) {
  return code == MTLCommandBufferErrorTimeout || code == MTLCommandBufferErrorPageFault ||
         code == MTLCommandBufferErrorStackOverflow || code == gpu_hang;
}

NSError* error_of(int code, const std::string& text) {
  std::string words = metals_words(code);
  if (!text.empty()) words += ": " + text;
  NSString* const domain =
      is_on(Switch::foreign_errors) ? @"DoubleErrorDomain" : MTLCommandBufferErrorDomain;
  return make_error(domain, code >= first_of_driver ? MTLCommandBufferErrorInternal : code, words);
}

}  // namespace metal_double
