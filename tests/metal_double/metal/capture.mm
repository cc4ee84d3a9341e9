#import <Metal/Metal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "control.h"
#include "errors.h"

using metal_double::is_on;
using metal_double::report;
using metal_double::Switch;

@implementation MTLCaptureManager {
  std::filesystem::path _path;
}
+ (MTLCaptureManager*)sharedCaptureManager {
  static MTLCaptureManager* only = [[MTLCaptureManager alloc] init];
  return only;
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
  if (_isCapturing) return fail(MTLCaptureErrorAlreadyCapturing, "Already capturing");
  if (![self supportsDestination:descriptor.destination]) {
    return fail(MTLCaptureErrorNotSupported, "Capturing to this destination is not supported");
  }
  if (descriptor.captureObject == nil || descriptor.outputURL == nil) {
    return fail(MTLCaptureErrorInvalidDescriptor, "captureObject and outputURL must be set");
  }
  _path = metal_double::to_string(descriptor.outputURL.path);
  if (std::filesystem::exists(_path)) {
    return fail(MTLCaptureErrorInvalidDescriptor, _path.string() + " exists");
  }
  if (metal_double::take(Switch::fail_capture)) {
    return fail(MTLCaptureErrorNotSupported, "Capturing failed as it was told to");
  }
  _isCapturing = YES;
  return YES;
}
- (void)stopCapture {
  if (!_isCapturing) {
    metal_double::violation("stopCapture: nothing is being captured");
    return;
  }
  _isCapturing = NO;
  std::filesystem::create_directory(_path);
  std::ofstream(_path / "capture") << "what a GPU trace holds, the double does not\n";
  metal_double::count(metal_double::Count::captures);
}
@end
