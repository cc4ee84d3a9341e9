#include "command_buffer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "control.h"
#include "counters.h"
#include "driver_errors.h"
#include "encoder.h"
#include "errors.h"
#include "execute.h"
#include "gpu_clock.h"

using metal_double::is_on;
using metal_double::Pass;
using metal_double::Switch;
using metal_double::violation;

@implementation DoubleCommandBuffer {
  DoubleQueue* _queue;
  std::vector<std::shared_ptr<Pass>> _passes;
  std::vector<MTLCommandBufferHandler> _handlers;
  std::mutex _mutex;
  std::condition_variable _changed;
  MTLCommandBufferStatus _status;
  bool _handled;
  std::uint64_t _committedNs;
  NSError* _error;
  double _start_s;
  double _end_s;
}
@synthesize label = _label;

- (instancetype)initWithQueue:(DoubleQueue*)queue {
  if ((self = [super init]) != nil) _queue = queue;
  return self;
}
- (id<MTLDevice>)device {
  return _queue.device;
}
- (id<MTLCommandQueue>)commandQueue {
  return _queue;
}
- (std::string)name {
  return "[" + metal_double::to_string(self.label) + "] ";
}
- (MTLCommandBufferStatus)status {
  const std::scoped_lock lock(_mutex);
  return _status;
}
- (NSError*)error {
  const std::scoped_lock lock(_mutex);
  return _error;
}
- (double)time:(double)seconds {
  const std::scoped_lock lock(_mutex);
  if (_status < MTLCommandBufferStatusCompleted) {
    violation([self name] + "a time is read before the end: there is none yet");
  }
  return seconds;
}
- (CFTimeInterval)GPUStartTime {
  return [self time:_start_s];
}
- (CFTimeInterval)GPUEndTime {
  return [self time:_end_s];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self encoderFor:nil];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:
    (MTLComputePassDescriptor*)computePassDescriptor {
  return [self encoderFor:computePassDescriptor];
}
- (DoubleEncoder*)encoderFor:(MTLComputePassDescriptor*)descriptor {
  if (is_on(Switch::no_encoder)) return nil;
  if (_status != MTLCommandBufferStatusNotEnqueued) {
    violation([self name] + "an encoder is asked for after commit");
    return nil;
  }
  if (!_passes.empty() && !_passes.back()->ended) {
    violation([self name] + "a second encoder is opened before the first one's endEncoding");
    return nil;
  }
  auto pass = std::make_shared<Pass>();
  MTLComputePassSampleBufferAttachmentDescriptor* samples = descriptor.sampleBufferAttachments[0];
  if (samples.sampleBuffer != nil) {
    pass->samples = samples.sampleBuffer;
    pass->start_sample = samples.startOfEncoderSampleIndex;
    pass->end_sample = samples.endOfEncoderSampleIndex;
  }
  _passes.push_back(pass);
  return [[DoubleEncoder alloc] initWithCommandBuffer:self pass:std::move(pass)];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  if (_status != MTLCommandBufferStatusNotEnqueued) {
    violation([self name] + "addCompletedHandler: after commit");
    return;
  }
  _handlers.push_back([block copy]);
}
- (void)commit {
  if (_status != MTLCommandBufferStatusNotEnqueued) {
    violation([self name] + "commit: a second time");
    return;
  }
  if (!_passes.empty() && !_passes.back()->ended) {
    violation([self name] + "commit: before the encoder's endEncoding");
    _passes.back()->ended = true;
  }
  {
    const std::scoped_lock lock(_mutex);
    _status = MTLCommandBufferStatusCommitted;
    _committedNs = metal_double::host_ns();
  }
  metal_double::count(metal_double::Count::commits);
  [_queue run:self];
}
- (void)waitUntilCompleted {
  std::unique_lock lock(_mutex);
  if (_status == MTLCommandBufferStatusNotEnqueued) {
    violation([self name] + "waitUntilCompleted: before commit");
    return;
  }
  _changed.wait(lock, [self] { return self->_handled; });
}

- (void)runOn:(metal_double::Timeline&)timeline {
  const metal_double::Outcome outcome =
      metal_double::run_passes(_passes, _committedNs, {timeline, [_queue residencySets]});
  // As in Metal, what it held on to is released before anybody hears of the end.
  _passes.clear();
  metal_double::wait_for_news_of(outcome.end);
  timeline.note_error(outcome.error_code, metal_double::host_ns());
  [self endWith:outcome];
}
- (void)endWith:(const metal_double::Outcome&)outcome {
  {
    const std::scoped_lock lock(_mutex);
    const bool reversed = is_on(Switch::reversed_gpu_time);
    const double scale = is_on(Switch::zero_gpu_time) ? 0 : 1;
    _start_s = scale * metal_double::to_seconds(reversed ? outcome.end : outcome.begin);
    _end_s = scale * metal_double::to_seconds(reversed ? outcome.begin : outcome.end);
    if (outcome.error_code != 0) {
      _error = metal_double::error_of(outcome.error_code, outcome.text);
    }
    _status =
        outcome.error_code == 0 ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
  }
  metal_double::count(metal_double::Count::command_buffers);
  const auto handlers = std::move(_handlers);
  _handlers.clear();
  for (MTLCommandBufferHandler handler : handlers) handler(self);
  const std::scoped_lock lock(_mutex);
  _handled = true;
  _changed.notify_all();
}
@end
