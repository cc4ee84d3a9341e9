// A stand-in for MLX, as far as a process feels it: separate work on the same GPU.
#import <Metal/Metal.h>

#import <objc/runtime.h>

#include <algorithm>

#include "command_buffer.h"
#include "control.h"
#include "device.h"
#include "encoder.h"
#include "gpu_clock.h"
#include "queue.h"
#include "runtime/live_objects.h"

namespace {

// As long as the process lives, and so no objects that somebody forgot to release.
struct Stream {
  id<MTLDevice> device = [[DoubleDevice alloc] init];
  id<MTLCommandQueue> queue = [[DoubleQueue alloc] initWithDevice:device];
  id<MTLFence> fence = [device newFence];

  Stream() {
    metal_double::leave_uncounted((__bridge const void*)device);
    metal_double::leave_uncounted((__bridge const void*)queue);
    metal_double::leave_uncounted((__bridge const void*)fence);
  }
};

const Stream& stream() {
  static const Stream& only = *new Stream;
  return only;
}

id<MTLCommandBuffer> commit(const Stream& stream, double cost_ns) {
  id<MTLCommandBuffer> buffer = [stream.queue commandBufferWithUnretainedReferences];
  id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
  // A repetition writes to what the one before wrote to.
  [encoder waitForFence:stream.fence];
  [static_cast<DoubleEncoder*>(encoder) spendGPUTime:cost_ns];
  [encoder updateFence:stream.fence];
  [encoder endEncoding];
  [buffer commit];
  return buffer;
}

}  // namespace

// Whether a block stands in the place of the command buffers' method.
extern "C" [[gnu::visibility("default")]] bool metal_double_commit_is_replaced() {
  return imp_getBlock(class_getMethodImplementation([DoubleCommandBuffer class],
                                                    @selector(commit))) != nil;
}

void metal_double_mlx(std::uint32_t repetitions, std::uint32_t per_buffer, double cost_ns) {
  if (per_buffer == 0) {
    metal_double::violation("metal_double_mlx: expected at least 1 repetition per buffer, got 0");
    return;
  }
  @autoreleasepool {
    id<MTLCommandBuffer> last = nil;
    for (std::uint32_t left = repetitions; left > 0;) {
      const std::uint32_t now = std::min(left, per_buffer);
      const double host_ns = now * metal_double::value(metal_double::Switch::mlx_host_ns);
      if (host_ns > 0) {
        metal_double::wait_until_ns(metal_double::host_ns() + static_cast<std::uint64_t>(host_ns));
      }
      last = commit(stream(), now * cost_ns);
      left -= now;
    }
    [last waitUntilCompleted];
  }
}
