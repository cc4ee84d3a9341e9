#include "residency.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "control.h"

using metal_double::violation;

@implementation MTLResidencySetDescriptor
@end

@implementation DoubleResidencySet {
 @package
  std::mutex _mutex;
  std::vector<id> _allocations;
  std::vector<id> _committed;
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
  metal_double::count(metal_double::Count::resident_allocations, -1);
}
- (void)commit {
  // Released after the lock.
  std::vector<id> before;
  const std::scoped_lock lock(_mutex);
  before.swap(_committed);
  _committed = _allocations;
}
- (void)requestResidency {
  const std::scoped_lock lock(_mutex);
  if (_committed != _allocations)
    violation("requestResidency: allocations were added but not committed");
}
- (void)endResidency {
}
@end

std::vector<DoubleBuffer*> metal_double::resident_buffers(
    const std::vector<DoubleResidencySet*>& sets) {
  std::vector<DoubleBuffer*> buffers;
  for (DoubleResidencySet* set : sets) {
    const std::scoped_lock lock(set->_mutex);
    for (const id& allocation : set->_committed) {
      if ([allocation isKindOfClass:[DoubleBuffer class]]) buffers.push_back(allocation);
    }
  }
  return buffers;
}

std::vector<const void*> metal_double::resident_allocations(
    const std::vector<DoubleResidencySet*>& sets) {
  std::vector<const void*> allocations;
  for (DoubleResidencySet* set : sets) {
    const std::scoped_lock lock(set->_mutex);
    for (const id& allocation : set->_committed) {
      allocations.push_back((__bridge const void*)allocation);
    }
  }
  return allocations;
}
