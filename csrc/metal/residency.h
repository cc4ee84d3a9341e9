#pragma once

#import <Metal/Metal.h>

#include <mutex>

namespace metalbench::metal {

// Keeps every allocation in the GPU's reach, so that no window pays for that. Does nothing before
// macOS 15, which brought MTLResidencySet.
class Residency {
 public:
  Residency(id<MTLDevice> device, bool supported);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  void add(id<MTLBuffer> buffer);
  void remove(id<MTLBuffer> buffer);
  // Command buffers of the queue find the allocations resident.
  void attach(id<MTLCommandQueue> queue);

 private:
  std::mutex mutex_;  // residency sets are not safe to change from several threads
  id set_;            // MTLResidencySet; nil where there is none
};

}  // namespace metalbench::metal
