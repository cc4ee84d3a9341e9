#pragma once

#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCounters.h>

NS_ASSUME_NONNULL_BEGIN

@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject
@property(nullable, nonatomic, retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property(nonatomic) NSUInteger startOfEncoderSampleIndex;
@property(nonatomic) NSUInteger endOfEncoderSampleIndex;
@end

@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject
- (MTLComputePassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex;
@end

@interface MTLComputePassDescriptor : NSObject
+ (MTLComputePassDescriptor*)computePassDescriptor;
@property(nonatomic) MTLDispatchType dispatchType;
@property(readonly) MTLComputePassSampleBufferAttachmentDescriptorArray* sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END
