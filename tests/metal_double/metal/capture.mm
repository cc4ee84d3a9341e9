#import <Metal/Metal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "control.h"
#include "errors.h"

using metal_double::is_on;
using metal_double::report;
using metal_double::Switch;

namespace {

// Of the one capture that a process may make at a time. The managers come and go, so that none is
// left to be counted.
std::filesystem::path trace_path;
bool is_capturing = false;

}  // namespace

@implementation MTLCaptureManager
+ (MTLCaptureManager*)sharedCaptureManager {
  return [[MTLCaptureManager alloc] init];
}
- (BOOL)isCapturing {
  return is_capturing;
}
- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
  return destination == MTLCaptureDestinationGPUTraceDocument && !is_on(Switch::no_capture);
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor*)descriptor
                             error:(__autoreleasing NSError**)error {
  const auto fail = [error](NSInteger code, const std::string& text) {
    report(error, MTLCaptureErrorDomain, code, text);
    return NO;
  };
  if (is_capturing) return fail(MTLCaptureErrorAlreadyCapturing, "Already capturing");
  if (![self supportsDestination:descriptor.destination]) {
    return fail(MTLCaptureErrorNotSupported, "Capturing to this destination is not supported");
  }
  if (descriptor.captureObject == nil || descriptor.outputURL == nil) {
    return fail(MTLCaptureErrorInvalidDescriptor, "captureObject and outputURL must be set");
  }
  trace_path = metal_double::to_string(descriptor.outputURL.path);
  if (std::filesystem::exists(trace_path)) {
    return fail(MTLCaptureErrorInvalidDescriptor, trace_path.string() + " exists");
  }
  if (metal_double::take(Switch::fail_capture)) {
    return fail(MTLCaptureErrorNotSupported, "Capturing failed as requested");
  }
  is_capturing = YES;
  return YES;
}
- (void)stopCapture {
  if (!is_capturing) {
    metal_double::violation("stopCapture: nothing is being captured");
    return;
  }
  is_capturing = NO;
  if (metal_double::take(Switch::lose_capture)) return;
  std::filesystem::create_directory(trace_path);
  std::ofstream(trace_path / "capture") << "what a GPU trace holds, the double does not\n";
  metal_double::count(metal_double::Count::captures);
}
@end
