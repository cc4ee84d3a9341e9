#include "metal/metal4.h"

#include <algorithm>

#include "core/errors.h"
#include "metal/errors.h"
#include "metal/metal4_api.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

id<MetalBenchDevice4> device4(id<MTLDevice> device) {
  const id owner = device;
  return owner;
}

// Return the number of slots that a table needs for commands of this kind.
NSUInteger slots(const Commands& commands, Command::Kind kind, Command::Kind other) {
  NSUInteger count = 0;
  for (const Command& command : commands) {
    if (command.kind == kind || command.kind == other) count = std::max(count, command.index + 1);
  }
  return count;
}

id<MetalBenchArgumentTable> new_table(id<MTLDevice> device, const Commands& commands,
                                      const std::string& where) {
  using Kind = Command::Kind;
  const id<MetalBenchArgumentTableDescriptor> descriptor =
      static_cast<id>([[NSClassFromString(@"MTL4ArgumentTableDescriptor") alloc] init]);
  descriptor.maxBufferBindCount = slots(commands, Kind::buffer, Kind::tensor);
  descriptor.maxTextureBindCount = slots(commands, Kind::texture, Kind::texture);
  descriptor.maxSamplerStateBindCount = slots(commands, Kind::sampler, Kind::sampler);
  descriptor.label = to_ns(where);
  NSError* error = nil;
  const id table = [device4(device) newArgumentTableWithDescriptor:descriptor error:&error];
  if (table == nil) throw Error(where + ": Metal gives no argument table: " + describe(error));
  return table;
}

// An encoder of Metal 4 runs its dispatches concurrently, unless a barrier is between them.
void send(const Commands& commands, id<MetalBenchCompute4Encoder> encoder) {
  for (const Command& command : commands) {
    switch (command.kind) {
      case Command::Kind::pipeline:
        [encoder setComputePipelineState:command.object];
        break;
      case Command::Kind::arguments:
        [encoder setArgumentTable:command.object];
        break;
      case Command::Kind::threadgroup_memory:
        [encoder setThreadgroupMemoryLength:command.length atIndex:command.index];
        break;
      case Command::Kind::threads:
      case Command::Kind::threadgroups:
        [encoder barrierAfterEncoderStages:metal4_stage_dispatch
                       beforeEncoderStages:metal4_stage_dispatch
                         visibilityOptions:metal4_visibility_device];
        if (command.kind == Command::Kind::threads) {
          [encoder dispatchThreads:command.grid threadsPerThreadgroup:command.threads];
        } else {
          [encoder dispatchThreadgroups:command.grid threadsPerThreadgroup:command.threads];
        }
        break;
      default:
        break;  // with_argument_table() leaves no others
    }
  }
}

}  // namespace

Commands with_argument_table(id<MTLDevice> device, const Commands& commands,
                             const std::string& where) {
  const id<MetalBenchArgumentTable> table = new_table(device, commands, where);
  Commands others;
  for (const Command& command : commands) {
    switch (command.kind) {
      case Command::Kind::buffer:
        [table setAddress:static_cast<id<MTLBuffer>>(command.object).gpuAddress + command.offset
                  atIndex:command.index];
        break;
      case Command::Kind::tensor:
        [table setResource:static_cast<id<MetalBenchTensor>>(command.object).gpuResourceID
             atBufferIndex:command.index];
        break;
      case Command::Kind::texture:
        [table setTexture:static_cast<id<MTLTexture>>(command.object).gpuResourceID
                  atIndex:command.index];
        break;
      case Command::Kind::sampler:
        [table setSamplerState:static_cast<id<MTLSamplerState>>(command.object).gpuResourceID
                       atIndex:command.index];
        break;
      case Command::Kind::resource:
        break;  // resident already, as all storages are
      default:
        others.push_back(command);
    }
  }
  others.push_back({.kind = Command::Kind::arguments, .object = table});
  return others;
}

id new_metal4_queue(const Gpu& gpu) {
  const id<MetalBenchCommand4QueueDescriptor> descriptor =
      static_cast<id>([[NSClassFromString(@"MTL4CommandQueueDescriptor") alloc] init]);
  descriptor.label = queue_label;
  NSError* error = nil;
  const id queue = [device4(gpu.device()) newMTL4CommandQueueWithDescriptor:descriptor
                                                                      error:&error];
  if (queue == nil) {
    throw Error("metal: " + gpu.capabilities().name +
                " gives no command queue of Metal 4: " + describe(error));
  }
  gpu.residency()->attach(queue);
  return queue;
}

bool commit_metal4(id<MTLDevice> device, id queue, const Script& script, std::uint32_t passes,
                   const std::shared_ptr<Completion>& completion) {
  const id allocator = [device4(device) newCommandAllocator];
  const id<MetalBenchCommand4Buffer> buffer = [device4(device) newCommandBuffer];
  if (allocator == nil || buffer == nil) return false;
  buffer.label = script.label();
  [buffer beginCommandBufferWithAllocator:allocator];
  const id<MetalBenchCompute4Encoder> encoder = [buffer computeCommandEncoder];
  if (encoder != nil) {
    encoder.label = script.label();
    [encoder barrierAfterQueueStages:metal4_stage_dispatch
                        beforeStages:metal4_stage_dispatch
                   visibilityOptions:metal4_visibility_device];
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      send(pass == 0 ? script.first_pass() : script.later_pass(), encoder);
    }
    [encoder endEncoding];
  }
  [buffer endCommandBuffer];
  if (encoder == nil) return false;

  const id<MetalBenchCommitOptions> options =
      static_cast<id>([[NSClassFromString(@"MTL4CommitOptions") alloc] init]);
  const std::shared_ptr<Completion> share = completion;
  [options addFeedbackHandler:^(id<MetalBenchCommitFeedback> feedback) {
    // Metal 4 keeps no references, so the handler does.
    static_cast<void>(allocator);
    static_cast<void>(buffer);
    const auto status =
        feedback.error == nil ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
    share->take(status, feedback.error, span_of(feedback.GPUStartTime, feedback.GPUEndTime));
  }];
  const id buffers[] = {buffer};
  [static_cast<id<MetalBenchCommand4Queue>>(queue) commit:buffers count:1 options:options];
  return true;
}

}  // namespace metalbench::metal
