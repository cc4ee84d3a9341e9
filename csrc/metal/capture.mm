#include "metal/capture.h"

#include <filesystem>

#include "core/errors.h"
#include "metal/errors.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

MTLCaptureManager* manager() { return [MTLCaptureManager sharedCaptureManager]; }

// Writes the trace at its end, also after an error.
class Recording {
 public:
  Recording(Gpu& gpu, const std::string& path) {
    std::string refusal;
    @autoreleasepool {
      auto* descriptor = [[MTLCaptureDescriptor alloc] init];
      descriptor.captureObject = gpu.device();
      descriptor.destination = MTLCaptureDestinationGPUTraceDocument;
      descriptor.outputURL = [NSURL fileURLWithPath:to_ns(path)];
      NSError* error = nil;
      if (![manager() startCaptureWithDescriptor:descriptor error:&error]) {
        refusal = describe(error);
      }
    }
    if (!refusal.empty()) throw Error("metal: cannot capture to " + path + ": " + refusal);
  }
  ~Recording() {
    @autoreleasepool {
      [manager() stopCapture];
    }
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

}  // namespace

void capture(Gpu& gpu, Program& program, const RunOptions& options, const std::string& path) {
  if (![manager() supportsDestination:MTLCaptureDestinationGPUTraceDocument]) {
    throw Unsupported(
        "metal: this process may not capture GPU traces; set MTL_CAPTURE_ENABLED=1 in its "
        "environment and run it again");
  }
  if (std::filesystem::exists(path)) {
    throw Error("metal: cannot capture to " + path +
                ": it exists already; remove it, or choose another name");
  }
  {
    const Recording recording(gpu, path);
    static_cast<void>(program.run(options));
  }
  if (!std::filesystem::exists(path)) {
    throw Error("metal: Metal left no GPU trace at " + path +
                "; its folder must exist and be writable");
  }
}

}  // namespace metalbench::metal
