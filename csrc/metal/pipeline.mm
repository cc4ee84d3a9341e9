#include "metal/pipeline.h"

#include "core/errors.h"
#include "metal/errors.h"
#include "metal/metal4_api.h"

namespace metalbench::metal {

id<MTLComputePipelineState> MetalPipeline::state(const Size3& threads) const {
  if (per_threads_ == nil) return state_;
  const std::lock_guard lock(mutex_);
  auto& state = states_[{threads.x, threads.y, threads.z}];
  if (state != nil) return state;
  MTLComputePipelineDescriptor* const descriptor = [per_threads_ copy];
  const id required = descriptor;
  static_cast<id<MetalBenchRequiredThreads>>(required).requiredThreadsPerThreadgroup =
      MTLSizeMake(threads.x, threads.y, threads.z);
  NSError* error = nil;
  state = [state_.device newComputePipelineStateWithDescriptor:descriptor
                                                       options:MTLPipelineOptionNone
                                                    reflection:nil
                                                         error:&error];
  if (state == nil) {
    throw DispatchError("[" + info_.name + "] threads: Metal does not compile the kernel for " +
                        metalbench::to_string(threads) + " threads: " + describe(error));
  }
  return state;
}

}  // namespace metalbench::metal
