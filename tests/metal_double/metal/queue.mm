#include "queue.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "command_buffer.h"
#include "control.h"
#include "timeline.h"

namespace {

// Shared with the worker thread, which may be what releases the queue.
struct Work {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<id<DoubleWork>> waiting;
  std::vector<DoubleResidencySet*> residency_sets;
  bool closed = false;
};

id<DoubleWork> next(Work& work) {
  std::unique_lock lock(work.mutex);
  work.changed.wait(lock, [&work] { return work.closed || !work.waiting.empty(); });
  if (work.waiting.empty()) return nil;
  id<DoubleWork> first = work.waiting.front();
  work.waiting.pop_front();
  return first;
}

void run_all(const std::shared_ptr<Work>& work) {
  metal_double::Timeline timeline;
  for (bool closed = false; !closed;) {
    @autoreleasepool {
      id<DoubleWork> first = next(*work);
      closed = first == nil;
      if (!closed) [first runOn:timeline];
    }
  }
}

}  // namespace

@implementation DoubleQueue {
  std::shared_ptr<Work> _work;
}
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  if ((self = [super init]) != nil) {
    _device = device;
    _work = std::make_shared<Work>();
    std::thread([work = _work] { run_all(work); }).detach();
  }
  return self;
}
- (void)dealloc {
  const std::scoped_lock lock(_work->mutex);
  _work->closed = true;
  _work->changed.notify_one();
}
- (id<MTLCommandBuffer>)commandBuffer {
  return [[DoubleCommandBuffer alloc] initWithQueue:self];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [self commandBuffer];
}
- (void)run:(id<DoubleWork>)work {
  const std::scoped_lock lock(_work->mutex);
  _work->waiting.push_back(work);
  _work->changed.notify_one();
}
- (void)addResidencySet:(id)residency_set {
  const std::scoped_lock lock(_work->mutex);
  _work->residency_sets.push_back(residency_set);
}
- (void)removeResidencySet:(id)residency_set {
  const std::scoped_lock lock(_work->mutex);
  if (std::erase(_work->residency_sets, residency_set) == 0) {
    metal_double::violation("removeResidencySet: it was never added");
  }
}
- (std::vector<DoubleResidencySet*>)residencySets {
  const std::scoped_lock lock(_work->mutex);
  return _work->residency_sets;
}
@end
