#include "metal4.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffer.h"
#include "commands.h"
#include "control.h"
#include "driver_errors.h"
#include "errors.h"
#include "execute.h"
#include "gpu_clock.h"
#include "resource_ids.h"
#include "sampler.h"
#include "tensor.h"
#include "texture.h"

using metal_double::Command;
using metal_double::Pass;
using metal_double::violation;
using Kind = metal_double::Command::Kind;

@interface MTL4CommitFeedback : NSObject
@property(readonly, nonatomic) NSError* error;
@property(readonly, nonatomic) CFTimeInterval GPUStartTime;
@property(readonly, nonatomic) CFTimeInterval GPUEndTime;
- (instancetype)initWithOutcome:(const metal_double::Outcome&)outcome;
@end

@interface MTL4CommitOptions : NSObject {
 @public
  std::vector<void (^)(MTL4CommitFeedback*)> _handlers;
}
- (void)addFeedbackHandler:(void (^)(MTL4CommitFeedback*))block;
@end

@interface DoubleArgumentTable () {
 @public
  std::vector<Command> _bound;  // without their objects, which the table does not keep
  std::vector<std::uint64_t> _numbers;
  std::uint64_t _version;
}
@end

@interface Double4Encoder : NSObject
@property(copy, atomic) NSString* label;
- (instancetype)initWithPass:(std::shared_ptr<Pass>)pass;
@end

@interface Double4CommandBuffer () {
 @public
  std::vector<std::shared_ptr<Pass>> _passes;
  DoubleAllocator* _allocator;
  bool _ended;
}
@property(copy, atomic) NSString* label;
@end

// What one call of commit: has.
@interface DoubleCommit : NSObject <DoubleWork> {
 @public
  std::vector<std::shared_ptr<Pass>> _passes;
  std::uint64_t _committedNs;
  MTL4CommitOptions* _options;
  Double4Queue* _queue;
}
@end

namespace {

constexpr NSUInteger stage_dispatch = 1 << 27;
constexpr NSUInteger visible_on_device = 1;
constexpr NSUInteger metal4_threadgroup_alignment = 16;

// Codes of MTL4CommandQueueError.
int metal4_code(int code) {
  switch (code) {
    case MTLCommandBufferErrorTimeout:
      return 1;
    case MTLCommandBufferErrorNotPermitted:
      return 2;
    case MTLCommandBufferErrorOutOfMemory:
      return 3;
    case MTLCommandBufferErrorDeviceRemoved:
      return 4;
    case MTLCommandBufferErrorAccessRevoked:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

@implementation MTL4CommandQueueDescriptor
@end

@implementation MTL4ArgumentTableDescriptor
@end

@implementation DoubleAllocator
@end

@implementation MTL4CommitFeedback
- (instancetype)initWithOutcome:(const metal_double::Outcome&)outcome {
  if ((self = [super init]) != nil) {
    _GPUStartTime = metal_double::to_seconds(outcome.begin);
    _GPUEndTime = metal_double::to_seconds(outcome.end);
    if (outcome.error_code != 0) {
      NSError* error = metal_double::error_of(outcome.error_code, outcome.text);
      _error =
          metal_double::make_error(@"MTL4CommandQueueErrorDomain", metal4_code(outcome.error_code),
                                   metal_double::to_string(error.localizedDescription));
    }
  }
  return self;
}
@end

@implementation MTL4CommitOptions
- (void)addFeedbackHandler:(void (^)(MTL4CommitFeedback*))block {
  _handlers.push_back([block copy]);
}
@end

@implementation DoubleArgumentTable {
  MTL4ArgumentTableDescriptor* _descriptor;
}
- (instancetype)initWithDescriptor:(MTL4ArgumentTableDescriptor*)descriptor {
  if ((self = [super init]) != nil) _descriptor = descriptor;
  return self;
}
- (void)bind:(Kind)kind number:(std::uint64_t)number at:(NSUInteger)index of:(NSUInteger)slots {
  if (index >= slots) {
    violation("argument table: index " + std::to_string(index) + " of " + std::to_string(slots));
    return;
  }
  Command command;
  command.kind = kind;
  command.index = static_cast<std::uint32_t>(index);
  _bound.push_back(command);
  _numbers.push_back(number);
  ++_version;
}
- (void)setAddress:(uint64_t)gpuAddress atIndex:(NSUInteger)bindingIndex {
  [self bind:Kind::buffer number:gpuAddress at:bindingIndex of:_descriptor.maxBufferBindCount];
}
- (void)setResource:(MTLResourceID)resourceID atBufferIndex:(NSUInteger)bindingIndex {
  [self bind:Kind::tensor
      number:resourceID._impl
          at:bindingIndex
          of:_descriptor.maxBufferBindCount];
}
- (void)setTexture:(MTLResourceID)resourceID atIndex:(NSUInteger)bindingIndex {
  [self bind:Kind::texture
      number:resourceID._impl
          at:bindingIndex
          of:_descriptor.maxTextureBindCount];
}
- (void)setSamplerState:(MTLResourceID)resourceID atIndex:(NSUInteger)bindingIndex {
  [self bind:Kind::sampler
      number:resourceID._impl
          at:bindingIndex
          of:_descriptor.maxSamplerStateBindCount];
}
@end

@implementation Double4Encoder {
  std::shared_ptr<Pass> _pass;
  DoubleArgumentTable* _table;
  std::uint64_t _recorded;  // the version of the table that the pass has
  bool _ordered;            // after what was dispatched before
}
- (instancetype)initWithPass:(std::shared_ptr<Pass>)pass {
  if ((self = [super init]) != nil) {
    _pass = std::move(pass);
    _pass->is_metal4 = true;
    _ordered = true;
  }
  return self;
}
- (void)dealloc {
  if (!_pass->ended) violation("[" + _pass->label + "] encoder released without endEncoding");
}
- (Command&)record:(Kind)kind {
  if (_pass->ended) violation("[" + _pass->label + "] call of an encoder after endEncoding");
  Command& command = _pass->commands.emplace_back();
  command.kind = kind;
  return command;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  [self record:Kind::pipeline].object = state;
}
- (void)setArgumentTable:(DoubleArgumentTable*)argumentTable {
  if (argumentTable != _table) _recorded = 0;
  _table = argumentTable;
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  if (length % metal4_threadgroup_alignment != 0) {
    violation("setThreadgroupMemoryLength: not a multiple of 16");
  }
  Command& command = [self record:Kind::threadgroup_memory];
  command.index = static_cast<std::uint32_t>(index);
  command.amount = length;
}
- (void)barrierAfterQueueStages:(NSUInteger)afterQueueStages
                   beforeStages:(NSUInteger)beforeStages
              visibilityOptions:(NSUInteger)visibilityOptions {
  const bool orders = (afterQueueStages & beforeStages & stage_dispatch) != 0;
  if (orders && (visibilityOptions & visible_on_device) != 0) _pass->is_after_queue = true;
}
- (void)barrierAfterEncoderStages:(NSUInteger)afterEncoderStages
              beforeEncoderStages:(NSUInteger)beforeEncoderStages
                visibilityOptions:(NSUInteger)visibilityOptions {
  const bool orders = (afterEncoderStages & beforeEncoderStages & stage_dispatch) != 0;
  if (orders && (visibilityOptions & visible_on_device) != 0) _ordered = true;
}

// Takes over what the table binds, which may not have ended.
- (void)recordTable {
  if (_table == nil || _recorded == _table->_version) return;
  _recorded = _table->_version;
  for (std::size_t i = 0; i < _table->_bound.size(); ++i) {
    const std::uint64_t number = _table->_numbers[i];
    Command command = _table->_bound[i];
    if (command.kind == Kind::buffer) {
      DoubleBuffer* buffer = metal_double::find_buffer(number);
      command.object = buffer;
      command.amount = buffer == nil ? 0 : number - buffer->_gpuAddress;
    } else {
      command.object = metal_double::find_object({number});
    }
    if (command.object == nil) {
      violation("[" + _pass->label + "] the argument table has what does not exist any more, at " +
                std::to_string(command.index));
    }
    _pass->commands.push_back(command);
  }
}
- (void)dispatch:(bool)in_threads grid:(MTLSize)grid threads:(MTLSize)threads {
  if (!_ordered) {
    violation("[" + _pass->label + "] two dispatches of an encoder without a barrier overlap");
  }
  _ordered = false;
  [self recordTable];
  Command& command = [self record:Kind::dispatch];
  command.in_threads = in_threads;
  command.grid = grid;
  command.threads = threads;
}
- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  [self dispatch:true grid:threadsPerGrid threads:threadsPerThreadgroup];
}
- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid
       threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  [self dispatch:false grid:threadgroupsPerGrid threads:threadsPerThreadgroup];
}
- (void)endEncoding {
  if (_pass->ended) violation("[" + _pass->label + "] endEncoding: a second time");
  _pass->ended = true;
}
@end

@implementation Double4CommandBuffer
- (void)beginCommandBufferWithAllocator:(id)allocator {
  if (![allocator isKindOfClass:[DoubleAllocator class]]) {
    violation("beginCommandBufferWithAllocator: no allocator");
  }
  _allocator = allocator;
}
- (id)computeCommandEncoder {
  if (metal_double::is_on(metal_double::Switch::no_encoder)) return nil;
  if (_allocator == nil || _ended) {
    violation("computeCommandEncoder: outside of begin and end of the command buffer");
  }
  auto pass = std::make_shared<Pass>();
  pass->label = metal_double::to_string(self.label);
  _passes.push_back(pass);
  return [[Double4Encoder alloc] initWithPass:std::move(pass)];
}
- (void)endCommandBuffer {
  if (!_passes.empty() && !_passes.back()->ended) {
    violation("endCommandBuffer: before the encoder's endEncoding");
    _passes.back()->ended = true;
  }
  _ended = true;
}
@end

@implementation DoubleCommit
- (void)runOn:(metal_double::Timeline&)timeline {
  const metal_double::Outcome outcome =
      metal_double::run_passes(_passes, _committedNs, {timeline, [_queue residencySets]});
  _passes.clear();
  metal_double::wait_for_news_of(outcome.end);
  timeline.note_error(outcome.error_code, metal_double::host_ns());
  metal_double::count(metal_double::Count::command_buffers);
  metal_double::count(metal_double::Count::metal4_command_buffers);
  MTL4CommitFeedback* feedback = [[MTL4CommitFeedback alloc] initWithOutcome:outcome];
  const auto handlers = std::move(_options->_handlers);
  _options = nil;
  for (void (^handler)(MTL4CommitFeedback*) : handlers) handler(feedback);
}
@end

@implementation Double4Queue
- (id<MTLCommandBuffer>)commandBuffer {
  violation("commandBuffer: a queue of Metal 4 has none");
  return nil;
}
- (void)commit:(const id[])commandBuffers
         count:(NSUInteger)count
       options:(MTL4CommitOptions*)options {
  DoubleCommit* commit = [[DoubleCommit alloc] init];
  for (NSUInteger i = 0; i < count; ++i) {
    auto* const buffer = static_cast<Double4CommandBuffer*>(commandBuffers[i]);
    if (!buffer->_ended) violation("commit: before endCommandBuffer");
    for (auto& pass : buffer->_passes) commit->_passes.push_back(std::move(pass));
    buffer->_passes.clear();
  }
  commit->_options = options;
  commit->_queue = self;
  commit->_committedNs = metal_double::host_ns();
  metal_double::count(metal_double::Count::commits);
  [self run:commit];
}
@end
