#include "metal/residency.h"

#include <algorithm>

// API of macOS 15, declared by its selectors, because the SDK may be older than the system.
@protocol MetalBenchResidencySet <NSObject>
- (void)addAllocation:(id)allocation;
- (void)removeAllocation:(id)allocation;
- (void)commit;
- (void)requestResidency;
- (void)endResidency;
@end

@protocol MetalBenchResidencyDevice <NSObject>
- (id)newResidencySetWithDescriptor:(id)descriptor error:(NSError**)error;
@end

@protocol MetalBenchResidencyQueue <NSObject>
- (void)addResidencySet:(id)residencySet;
@end

namespace metalbench::metal {
namespace {

// Without it windows start later, but are correct.
id<MetalBenchResidencySet> new_set(id<MTLDevice> device) {
  const Class descriptor = NSClassFromString(@"MTLResidencySetDescriptor");
  if (descriptor == nil) return nil;
  const id owner = device;
  return
      [(id<MetalBenchResidencyDevice>)owner newResidencySetWithDescriptor:[[descriptor alloc] init]
                                                                    error:nil];
}

id<MetalBenchResidencySet> as_set(id set) { return set; }

}  // namespace

Residency::Residency(id<MTLDevice> device, bool supported)
    : set_(supported ? new_set(device) : nil) {
  [as_set(set_) requestResidency];
}

Residency::~Residency() { [as_set(set_) endResidency]; }

void Residency::add(id allocation) {
  const std::lock_guard lock(mutex_);
  [as_set(set_) addAllocation:allocation];
  [as_set(set_) commit];
  [as_set(set_) requestResidency];
}

void Residency::remove(id allocation) {
  const std::lock_guard lock(mutex_);
  [as_set(set_) removeAllocation:allocation];
  [as_set(set_) commit];
}

void Residency::attach(id queue) {
  if (set_ == nil) return;
  [(id<MetalBenchResidencyQueue>)queue addResidencySet:set_];
}

ResidentObjects::~ResidentObjects() {
  for (const id& object : objects_) residency_->remove(object);
}

void ResidentObjects::add(id allocation) {
  if (std::ranges::find(objects_, allocation) != objects_.end()) return;
  residency_->add(allocation);
  objects_.push_back(allocation);
}

}  // namespace metalbench::metal
