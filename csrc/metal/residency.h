#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace metalbench::metal {

// Keeps all allocations resident on the GPU, so that windows do not pay for it. No effect before
// macOS 15, which introduced MTLResidencySet.
class Residency {
 public:
  Residency(id<MTLDevice> device, bool supported);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  void add(id allocation);
  void remove(id allocation);
  // Make the allocations resident for the queue's command buffers.
  void attach(id queue);

 private:
  std::mutex mutex_;  // residency sets are not thread-safe
  id set_;            // MTLResidencySet; nil without support
};

// Keeps objects resident for as long as it lives.
class ResidentObjects {
 public:
  explicit ResidentObjects(std::shared_ptr<Residency> residency)
      : residency_(std::move(residency)) {}
  ~ResidentObjects();
  ResidentObjects(const ResidentObjects&) = delete;
  ResidentObjects& operator=(const ResidentObjects&) = delete;

  // No effect for an object that was added before.
  void add(id allocation);

 private:
  std::shared_ptr<Residency> residency_;
  std::vector<id> objects_;
};

}  // namespace metalbench::metal
