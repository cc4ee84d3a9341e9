#include "encoder.h"

#include <cstring>
#include <utility>

#include "buffer.h"
#include "control.h"

using metal_double::Command;
using metal_double::violation;
using Kind = metal_double::Command::Kind;

namespace {

constexpr NSUInteger most_bytes = 4096;
constexpr NSUInteger buffer_slots = 31;
constexpr NSUInteger texture_slots = 128;
constexpr NSUInteger sampler_slots = 16;
constexpr NSUInteger threadgroup_alignment = 16;

bool equal(const MTLSize& a, const MTLSize& b) {
  return a.width == b.width && a.height == b.height && a.depth == b.depth;
}

}  // namespace

@implementation DoubleEncoder {
  DoubleCommandBuffer* _commandBuffer;
  std::shared_ptr<metal_double::Pass> _pass;
  std::uint32_t _calls;
}
@synthesize label = _label;

- (instancetype)initWithCommandBuffer:(DoubleCommandBuffer*)command_buffer
                                 pass:(std::shared_ptr<metal_double::Pass>)pass {
  if ((self = [super init]) != nil) {
    _commandBuffer = command_buffer;
    _pass = std::move(pass);
  }
  return self;
}
- (void)dealloc {
  if (!_pass->ended) violation("[" + _pass->label + "] encoder released without endEncoding");
}
- (id<MTLDevice>)device {
  return _commandBuffer.device;
}
- (MTLDispatchType)dispatchType {
  return MTLDispatchTypeSerial;
}
- (void)setLabel:(NSString*)label {
  _label = [label copy];
  _pass->label = label == nil ? "" : [label UTF8String];
}

// Where calls go that come too late or are out of bounds.
static Command& nowhere() {
  thread_local Command unread;
  return unread;
}

static Command& record(DoubleEncoder* self, Kind kind, NSUInteger index, NSUInteger slots) {
  metal_double::Pass& pass = *self->_pass;
  ++self->_calls;
  if (pass.ended) {
    violation("[" + pass.label + "] call of an encoder after endEncoding");
    return nowhere();
  }
  if (index >= slots) {
    violation("[" + pass.label + "] index " + std::to_string(index) + " of " +
              std::to_string(slots));
    return nowhere();
  }
  Command& command = pass.commands.emplace_back();
  command.kind = kind;
  command.index = static_cast<std::uint32_t>(index);
  return command;
}

static void require(DoubleEncoder* self, bool holds, const char* what) {
  if (!holds) violation("[" + self->_pass->label + "] " + what);
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  require(self, state != nil, "setComputePipelineState: nil");
  record(self, Kind::pipeline, 0, 1).object = state;
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  require(self, length > 0 && length <= most_bytes, "setBytes: length is not from 1 to 4096");
  Command& command = record(self, Kind::bytes, index, buffer_slots);
  std::vector<std::byte>& all = _pass->bytes;
  command.amount = all.size();
  command.repeats = static_cast<std::uint32_t>(length);
  const auto* begin = static_cast<const std::byte*>(bytes);
  all.insert(all.end(), begin, begin + length);
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  require(self, buffer == nil || offset <= static_cast<DoubleBuffer*>(buffer)->_length,
          "setBuffer: offset beyond the buffer's length");
  Command& command = record(self, Kind::buffer, index, buffer_slots);
  command.object = buffer;
  command.amount = offset;
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  record(self, Kind::buffer_offset, index, buffer_slots).amount = offset;
}
- (void)setTexture:(id<MTLTexture>)texture atIndex:(NSUInteger)index {
  record(self, Kind::texture, index, texture_slots).object = texture;
}
- (void)setTextures:(const id<MTLTexture>[])textures withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setTexture:textures[i] atIndex:range.location + i];
  }
}
- (void)setSamplerState:(id<MTLSamplerState>)sampler atIndex:(NSUInteger)index {
  record(self, Kind::sampler, index, sampler_slots).object = sampler;
}
- (void)setSamplerStates:(const id<MTLSamplerState>[])samplers withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setSamplerState:samplers[i] atIndex:range.location + i];
  }
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  require(self, length % threadgroup_alignment == 0,
          "setThreadgroupMemoryLength: not a multiple of 16");
  record(self, Kind::threadgroup_memory, index, buffer_slots).amount = length;
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  require(self, resource != nil && usage != 0, "useResource: no resource, or no usage");
  Command& command = record(self, Kind::resource, 0, 1);
  command.object = resource;
  command.amount = usage;
}

static void dispatch(DoubleEncoder* self, bool in_threads, const MTLSize& grid,
                     const MTLSize& threads) {
  std::vector<Command>& commands = self->_pass->commands;
  if (!commands.empty() && !self->_pass->ended) {
    Command& last = commands.back();
    if (last.kind == Kind::dispatch && last.in_threads == in_threads && equal(last.grid, grid) &&
        equal(last.threads, threads)) {
      ++self->_calls;
      ++last.repeats;
      return;
    }
  }
  Command& command = record(self, Kind::dispatch, 0, 1);
  command.in_threads = in_threads;
  command.grid = grid;
  command.threads = threads;
}

- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid
       threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  dispatch(self, false, threadgroupsPerGrid, threadsPerThreadgroup);
}
- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  dispatch(self, true, threadsPerGrid, threadsPerThreadgroup);
}
- (void)updateFence:(id<MTLFence>)fence {
  require(self, fence != nil && !_pass->ended, "updateFence: no fence, or after endEncoding");
  if (fence != nil) _pass->updated.push_back(fence);
}
- (void)waitForFence:(id<MTLFence>)fence {
  require(self, fence != nil && !_pass->ended, "waitForFence: no fence, or after endEncoding");
  if (fence != nil) _pass->waited_for.push_back(fence);
}
- (void)spendGPUTime:(double)ns {
  _pass->extra_ns += ns;
}
- (void)endEncoding {
  require(self, !_pass->ended, "endEncoding: a second time");
  _pass->ended = true;
  metal_double::count(metal_double::Count::encoder_calls, _calls);
}
@end
