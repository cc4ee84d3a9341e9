#pragma once

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

#define MTLCounterErrorValue ((uint64_t)~0ULL)
#define MTLCounterDontSample ((NSUInteger) - 1)

typedef NSString* const MTLCommonCounter;
typedef NSString* const MTLCommonCounterSet;

MTL_EXTERN MTLCommonCounter MTLCommonCounterTimestamp;
MTL_EXTERN MTLCommonCounterSet MTLCommonCounterSetTimestamp;

typedef struct {
  uint64_t timestamp;
} MTLCounterResultTimestamp;

@protocol MTLCounter <NSObject>
@property(readonly, copy) NSString* name;
@end

@protocol MTLCounterSet <NSObject>
@property(readonly, copy) NSString* name;
@property(readonly, copy) NSArray<id<MTLCounter>>* counters;
@end

@interface MTLCounterSampleBufferDescriptor : NSObject
@property(nullable, readwrite, retain) id<MTLCounterSet> counterSet;
@property(readwrite, copy) NSString* label;
@property(readwrite) MTLStorageMode storageMode;
@property(readwrite) NSUInteger sampleCount;
@end

@protocol MTLCounterSampleBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString* label;
@property(readonly) NSUInteger sampleCount;
- (nullable NSData*)resolveCounterRange:(NSRange)range;
@end

MTL_EXTERN NSErrorDomain const MTLCounterErrorDomain;

typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
  MTLCounterSampleBufferErrorOutOfMemory,
  MTLCounterSampleBufferErrorInvalid,
  MTLCounterSampleBufferErrorInternal,
};

NS_ASSUME_NONNULL_END
