// What an encoder records: calls in order, to be understood only when the command buffer runs.
#pragma once

#import <Metal/Metal.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace metal_double {

struct Command {
  enum class Kind : std::uint8_t {
    pipeline,
    buffer,
    buffer_offset,
    bytes,
    texture,
    sampler,
    tensor,
    threadgroup_memory,
    resource,
    dispatch,
  };

  Kind kind = Kind::dispatch;
  bool in_threads = false;
  std::uint32_t index = 0;
  std::uint32_t repeats = 1;  // of one dispatch
  NSUInteger amount = 0;      // an offset, also into the pass's bytes, a length or a usage
  id object = nil;
  MTLSize grid{};
  MTLSize threads{};
};

// What one encoder recorded.
struct Pass {
  std::string label;
  std::vector<Command> commands;
  std::vector<std::byte> bytes;
  id<MTLCounterSampleBuffer> samples = nil;
  NSUInteger start_sample = MTLCounterDontSample;
  NSUInteger end_sample = MTLCounterDontSample;
  double extra_ns = 0;  // of GPU time, besides that of the commands
  std::vector<id<MTLFence>> waited_for;
  std::vector<id<MTLFence>> updated;
  bool ended = false;
  bool is_metal4 = false;  // Metal tracks none of its resources, and only sets make them resident
  bool is_after_queue = false;  // begins after all that the queue had before
};

}  // namespace metal_double
