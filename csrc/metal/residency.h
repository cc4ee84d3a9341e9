#pragma once

#import <Metal/Metal.h>

#include <mutex>

namespace metalbench::metal {

// Keeps all allocations resident on the GPU, so that windows do not pay for it. No effect before
// macOS 15, which introduced MTLResidencySet.
class Residency {
 public:
  Residency(id<MTLDevice> device, bool supported);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  void add(id<MTLBuffer> buffer);
  void remove(id<MTLBuffer> buffer);
  // Make the allocations resident for the queue's command buffers.
  void attach(id<MTLCommandQueue> queue);

 private:
  std::mutex mutex_;  // residency sets are not thread-safe
  id set_;            // MTLResidencySet; nil without support
};

}  // namespace metalbench::metal
