// What macOS 15 added: sets of allocations that stay resident. The headers do not declare it, as
// the SDK of macOS 14 does not; it is found by its selectors.
#pragma once

#import <Metal/Metal.h>

#include <vector>

#include "buffer.h"

@interface MTLResidencySetDescriptor : NSObject
@property(copy, nonatomic) NSString* label;
@property(nonatomic) NSUInteger initialCapacity;
@end

@interface DoubleResidencySet : NSObject
@property(readonly) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger allocationCount;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLResidencySetDescriptor*)descriptor;
- (void)addAllocation:(id)allocation;
- (void)removeAllocation:(id)allocation;
- (void)commit;
- (void)requestResidency;
- (void)endResidency;
@end

namespace metal_double {

// The buffers that the sets of a queue keep resident, as they were committed last.
[[nodiscard]] std::vector<DoubleBuffer*> resident_buffers(
    const std::vector<DoubleResidencySet*>& sets);

// All that they keep resident.
[[nodiscard]] std::vector<const void*> resident_allocations(
    const std::vector<DoubleResidencySet*>& sets);

}  // namespace metal_double
