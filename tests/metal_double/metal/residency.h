// What macOS 15 added: sets of allocations that stay resident. The headers do not declare it, as
// the SDK of macOS 14 does not; it is found by its selectors.
#pragma once

#import <Metal/Metal.h>

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

// To and from a queue.
void attach(DoubleResidencySet* residency_set);
void detach(DoubleResidencySet* residency_set);

}  // namespace metal_double
