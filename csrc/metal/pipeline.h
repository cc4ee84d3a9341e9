#pragma once

#import <Metal/Metal.h>

#include <utility>

#include "core/library.h"

namespace metalbench::metal {

class MetalPipeline final : public Pipeline {
 public:
  MetalPipeline(PipelineInfo info, id<MTLComputePipelineState> state)
      : info_(std::move(info)), state_(state) {}

  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] id<MTLComputePipelineState> state() const { return state_; }

 private:
  PipelineInfo info_;
  id<MTLComputePipelineState> state_;
};

}  // namespace metalbench::metal
