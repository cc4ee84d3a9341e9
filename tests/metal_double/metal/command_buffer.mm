#include "command_buffer.h"

#include <condition_variable>
#include <mutex>

#include "control.h"
#include "counters.h"
#include "encoder.h"
#include "errors.h"
#include "execute.h"
#include "gpu_clock.h"
#include "queue.h"

using metal_double::is_on;
using metal_double::Pass;
using metal_double::Switch;
using metal_double::violation;

namespace metal_double {
namespace {

// Until the host may learn that the GPU's work ended at this tick.
void wait_for_news_of(std::int64_t end) {
  const double latency_ns = value(Switch::latency_out_ns);
  if (latency_ns == 0 && !is_on(Switch::latency_in_ns)) return;
  wait_until_ns(static_cast<std::uint64_t>(to_ns(end) + latency_ns));
}

}  // namespace
}  // namespace metal_double

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

- (metal_double::Outcome)execute:(std::int64_t)start {
  metal_double::Outcome all{start, 0, {}};
  for (const auto& pass : _passes) {
    const std::int64_t pass_start = all.end;
    metal_double::Outcome outcome = metal_double::execute(*pass, pass_start);
    if (pass->samples != nil) {
      [static_cast<DoubleCounterSampleBuffer*>(pass->samples) sampleFrom:pass_start
                                                                      to:outcome.end
                                                                 atIndex:pass->start_sample
                                                                     and:pass->end_sample];
    }
    all = std::move(outcome);
    if (all.error_code != 0) break;
  }
  return all;
}
- (std::int64_t)runFrom:(std::int64_t)earliest {
  if (metal_double::take(Switch::hang_command_buffer)) {
    metal_double::wait_for_reset();
    _committedNs = metal_double::host_ns();
  }
  const int wanted_error = metal_double::take_command_buffer_error();
  const std::int64_t start =
      std::max(earliest, metal_double::to_ticks(static_cast<double>(_committedNs) +
                                                metal_double::value(Switch::latency_in_ns)));
  metal_double::Outcome outcome =
      wanted_error == 0 ? [self execute:start] : metal_double::Outcome{start, wanted_error, ""};
  const std::int64_t end = std::max(outcome.end, start + 1);
  // As in Metal, what it held on to is released before anybody hears of the end.
  _passes.clear();
  metal_double::wait_for_news_of(end);
  [self endAt:end from:start with:outcome];
  return end;
}
- (void)endAt:(std::int64_t)end
         from:(std::int64_t)start
         with:(const metal_double::Outcome&)outcome {
  {
    const std::scoped_lock lock(_mutex);
    const bool reversed = is_on(Switch::reversed_gpu_time);
    const double scale = is_on(Switch::zero_gpu_time) ? 0 : 1;
    _start_s = scale * metal_double::to_seconds(reversed ? end : start);
    _end_s = scale * metal_double::to_seconds(reversed ? start : end);
    if (outcome.error_code != 0) {
      _error = metal_double::error_of(outcome);
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
