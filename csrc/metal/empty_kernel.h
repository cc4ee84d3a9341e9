#pragma once

#import <Metal/Metal.h>

#include <mutex>

namespace metalbench::metal {

// A kernel that does nothing, for floors and clocks.
class EmptyKernel {
 public:
  explicit EmptyKernel(id<MTLDevice> device) : device_(device) {}

  // Compiled at its first use. Throws CompileError.
  [[nodiscard]] id<MTLComputePipelineState> state();

 private:
  [[nodiscard]] id<MTLComputePipelineState> compile() const;

  id<MTLDevice> device_;
  std::mutex mutex_;
  id<MTLComputePipelineState> state_;
};

}  // namespace metalbench::metal
