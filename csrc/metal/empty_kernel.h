#pragma once

#import <Metal/Metal.h>

#include <mutex>

namespace metalbench::metal {

// Empty kernel for measurements of the launch cost and of the clock.
class EmptyKernel {
 public:
  explicit EmptyKernel(id<MTLDevice> device) : device_(device) {}

  // Compile on first use. Throws CompileError.
  [[nodiscard]] id<MTLComputePipelineState> state();

 private:
  [[nodiscard]] id<MTLComputePipelineState> compile() const;

  id<MTLDevice> device_;
  std::mutex mutex_;
  id<MTLComputePipelineState> state_;
};

}  // namespace metalbench::metal
