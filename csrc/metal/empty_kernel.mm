#include "metal/empty_kernel.h"

#include "core/errors.h"
#include "metal/errors.h"

namespace metalbench::metal {
namespace {

NSString* const source = @"kernel void metalbench_empty() {}\n";

[[noreturn]] void reject(NSError* error) {
  throw CompileError("metal: the empty kernel does not compile, so that nothing can be timed: " +
                     describe(error));
}

}  // namespace

id<MTLComputePipelineState> EmptyKernel::state() {
  const std::lock_guard lock(mutex_);
  if (state_ == nil) state_ = compile();
  return state_;
}

id<MTLComputePipelineState> EmptyKernel::compile() const {
  NSError* error = nil;
  const id<MTLLibrary> library = [device_ newLibraryWithSource:source
                                                       options:[[MTLCompileOptions alloc] init]
                                                         error:&error];
  if (library == nil) reject(error);
  const id<MTLFunction> function =
      [library newFunctionWithName:@"metalbench_empty"
                    constantValues:[[MTLFunctionConstantValues alloc] init]
                             error:&error];
  if (function == nil) reject(error);
  auto* descriptor = [[MTLComputePipelineDescriptor alloc] init];
  descriptor.label = @"metalbench_empty";
  descriptor.computeFunction = function;
  const id<MTLComputePipelineState> state =
      [device_ newComputePipelineStateWithDescriptor:descriptor
                                             options:MTLPipelineOptionNone
                                          reflection:nil
                                               error:&error];
  if (state == nil) reject(error);
  return state;
}

}  // namespace metalbench::metal
