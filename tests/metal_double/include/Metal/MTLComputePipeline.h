#pragma once

#import <Metal/MTLArgument.h>
#import <Metal/MTLDevice.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBinaryArchive;
@protocol MTLFunction;

@interface MTLComputePipelineReflection : NSObject
@property(nonnull, readonly) NSArray<id<MTLBinding>>* bindings;
@end

@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property(nullable, copy, nonatomic) NSString* label;
@property(nullable, readwrite, nonatomic, strong) id<MTLFunction> computeFunction;
@property(readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readwrite, nullable, nonatomic, copy) NSArray<id<MTLBinaryArchive>>* binaryArchives;
@end

@protocol MTLComputePipelineState <NSObject>
@property(nullable, readonly) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end

NS_ASSUME_NONNULL_END
