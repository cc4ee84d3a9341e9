// What is bound while a recorded pass is replayed. The commands keep the objects alive.
#pragma once

#import <Metal/Metal.h>

#include <array>

#include "buffer.h"
#include "commands.h"
#include "core/dispatch.h"
#include "pipeline.h"
#include "sampler.h"
#include "tensor.h"
#include "texture.h"

namespace metal_double {

struct BufferSlot {
  __unsafe_unretained DoubleBuffer* buffer = nil;
  NSUInteger offset = 0;  // in the buffer, or of the constant in the pass's bytes
  NSUInteger bytes = 0;   // of a constant; 0 for a buffer
  __unsafe_unretained DoubleTensor* tensor = nil;  // over the buffer; nil for none
};

struct Slots {
  __unsafe_unretained DoublePipeline* pipeline = nil;
  std::array<BufferSlot, 31> buffers;
  std::array<__unsafe_unretained DoubleTexture*, 128> textures{};
  std::array<__unsafe_unretained DoubleSampler*, 16> samplers{};
  std::array<NSUInteger, 31> threadgroup_bytes{};

  // Any command but a dispatch.
  void apply(const Command& command);
};

// A dispatch with the values of these slots. Throws InvalidUse.
[[nodiscard]] metalbench::Dispatch dispatch_of(const Slots& slots, const Pass& pass,
                                               const Command& command);

}  // namespace metal_double
