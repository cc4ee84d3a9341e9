#include "residency.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "control.h"

using metal_double::violation;

@implementation MTLResidencySetDescriptor
@end

@implementation DoubleResidencySet {
  std::mutex _mutex;
  std::vector<id> _allocations;
  bool _uncommitted;
 @package
  int _queues;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLResidencySetDescriptor*)descriptor {
  if ((self = [super init]) != nil) {
    _device = device;
    _label = descriptor.label;
  }
  return self;
}
- (NSUInteger)allocationCount {
  const std::scoped_lock lock(_mutex);
  return _allocations.size();
}
- (void)addAllocation:(id)allocation {
  const std::scoped_lock lock(_mutex);
  _allocations.push_back(allocation);
  _uncommitted = true;
  metal_double::count(metal_double::Count::resident_allocations);
}
- (void)removeAllocation:(id)allocation {
  // Released after the lock.
  __attribute__((objc_precise_lifetime)) id removed = nil;
  const std::scoped_lock lock(_mutex);
  const auto found = std::ranges::find(_allocations, allocation);
  if (found == _allocations.end()) {
    violation("removeAllocation: it is not in the residency set");
    return;
  }
  removed = *found;
  _allocations.erase(found);
  _uncommitted = true;
  metal_double::count(metal_double::Count::resident_allocations, -1);
}
- (void)commit {
  const std::scoped_lock lock(_mutex);
  _uncommitted = false;
}
- (void)requestResidency {
  const std::scoped_lock lock(_mutex);
  if (_uncommitted) violation("requestResidency: allocations were added but not committed");
}
- (void)endResidency {
}
@end

void metal_double::attach(DoubleResidencySet* residency_set) { ++residency_set->_queues; }

void metal_double::detach(DoubleResidencySet* residency_set) {
  if (--residency_set->_queues < 0) violation("removeResidencySet: it was never added");
}
