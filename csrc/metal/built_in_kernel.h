#pragma once

#import <Metal/Metal.h>

#include <mutex>

namespace metalbench::metal {

// A kernel that the device itself needs.
class BuiltInKernel {
 public:
  // `failure` begins the message of an error: that the kernel does not compile, and its
  // consequence.
  BuiltInKernel(id<MTLDevice> device, NSString* name, NSString* source, const char* failure)
      : device_(device), name_(name), source_(source), failure_(failure) {}

  // Compile on first use. Throws CompileError.
  [[nodiscard]] id<MTLComputePipelineState> state();

 private:
  [[nodiscard]] id<MTLComputePipelineState> compile() const;
  [[noreturn]] void reject(NSError* error) const;

  id<MTLDevice> device_;
  NSString* name_;
  NSString* source_;
  const char* failure_;
  std::mutex mutex_;
  id<MTLComputePipelineState> state_;
};

// An empty kernel, for measurements of the launch cost and of the clock.
struct EmptyKernel final : BuiltInKernel {
  explicit EmptyKernel(id<MTLDevice> device);
};

// copy(to, from, bytes, by_bytes): a thread for each `copied_bytes`. With `by_bytes` the memory may
// be at any address; otherwise both addresses are multiples of `copied_bytes`.
struct CopyKernel final : BuiltInKernel {
  static constexpr unsigned copied_bytes = 16;
  explicit CopyKernel(id<MTLDevice> device);
};

}  // namespace metalbench::metal
