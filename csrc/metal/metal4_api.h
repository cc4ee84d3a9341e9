// What Metal 4 adds to Metal and this device uses, declared by its selectors, because the SDK may
// be older than the system. The declarations follow the headers of the same names in the SDK of
// macOS 26: MTLTensor.h is that of MetalBenchTensor.
#pragma once

#import <Metal/Metal.h>

NS_ASSUME_NONNULL_BEGIN

// MTLBindingTypeTensor, MTLTensorUsageCompute, MTLGPUFamilyMetal4, MTLStageDispatch and
// MTL4VisibilityOptionDevice.
constexpr NSInteger metal4_binding_type_tensor = 37;
constexpr NSUInteger metal4_tensor_usage_compute = 1 << 0;
constexpr NSInteger metal4_gpu_family = 5002;
constexpr NSUInteger metal4_stage_dispatch = 1 << 27;
constexpr NSUInteger metal4_visibility_device = 1 << 0;

@protocol MetalBenchTensorExtents <NSObject>
- (nullable instancetype)initWithRank:(NSUInteger)rank values:(nullable const NSInteger*)values;
@property(readonly) NSUInteger rank;
@end

@protocol MetalBenchTensorDescriptor <NSObject>
@property(readwrite, nonatomic, copy) id dimensions;         // MTLTensorExtents
@property(readwrite, nonatomic, copy, nullable) id strides;  // MTLTensorExtents
@property(readwrite, nonatomic) NSInteger dataType;          // MTLTensorDataType
@property(readwrite, nonatomic) NSUInteger usage;            // MTLTensorUsage
@end

@protocol MetalBenchTensor <NSObject>
@property(readonly) MTLResourceID gpuResourceID;
@property(nullable, copy, atomic) NSString* label;
@end

@protocol MetalBenchTensorBuffer <NSObject>
- (nullable id<MetalBenchTensor>)newTensorWithDescriptor:(id)descriptor
                                                  offset:(NSUInteger)offset
                                                   error:(NSError* _Nullable*)error;
@end

@protocol MetalBenchTensorBinding <MTLBinding>
@property(readonly) NSInteger tensorDataType;
@property(nullable, readonly) id<MetalBenchTensorExtents> dimensions;
@end

@protocol MetalBenchRequiredThreads <NSObject>
@property(readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup;
@end

@protocol MetalBenchArgumentTableDescriptor <NSObject>
@property(readwrite, nonatomic) NSUInteger maxBufferBindCount;
@property(readwrite, nonatomic) NSUInteger maxTextureBindCount;
@property(readwrite, nonatomic) NSUInteger maxSamplerStateBindCount;
@property(nullable, copy, nonatomic) NSString* label;
@end

@protocol MetalBenchArgumentTable <NSObject>
- (void)setAddress:(uint64_t)gpuAddress atIndex:(NSUInteger)bindingIndex;
- (void)setResource:(MTLResourceID)resourceID atBufferIndex:(NSUInteger)bindingIndex;
- (void)setTexture:(MTLResourceID)resourceID atIndex:(NSUInteger)bindingIndex;
- (void)setSamplerState:(MTLResourceID)resourceID atIndex:(NSUInteger)bindingIndex;
@end

@protocol MetalBenchCompute4Encoder <NSObject>
@property(nullable, copy, atomic) NSString* label;
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setArgumentTable:(nullable id)argumentTable;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid
       threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)barrierAfterQueueStages:(NSUInteger)afterQueueStages
                   beforeStages:(NSUInteger)beforeStages
              visibilityOptions:(NSUInteger)visibilityOptions;
- (void)barrierAfterEncoderStages:(NSUInteger)afterEncoderStages
              beforeEncoderStages:(NSUInteger)beforeEncoderStages
                visibilityOptions:(NSUInteger)visibilityOptions;
- (void)endEncoding;
@end

@protocol MetalBenchCommand4Buffer <NSObject>
@property(nullable, copy, atomic) NSString* label;
- (void)beginCommandBufferWithAllocator:(id)allocator;
- (nullable id)computeCommandEncoder;
- (void)endCommandBuffer;
@end

@protocol MetalBenchCommitFeedback <NSObject>
@property(readonly, nonatomic, nullable) NSError* error;
@property(readonly, nonatomic) CFTimeInterval GPUStartTime;
@property(readonly, nonatomic) CFTimeInterval GPUEndTime;
@end

@protocol MetalBenchCommitOptions <NSObject>
- (void)addFeedbackHandler:(void (^)(id<MetalBenchCommitFeedback> feedback))block;
@end

@protocol MetalBenchCommand4QueueDescriptor <NSObject>
@property(nullable, copy, nonatomic) NSString* label;
@end

@protocol MetalBenchCommand4Queue <NSObject>
- (void)commit:(const id _Nonnull[_Nonnull])commandBuffers
         count:(NSUInteger)count
       options:(id)options;
@end

@protocol MetalBenchDevice4 <NSObject>
- (nullable id)newMTL4CommandQueueWithDescriptor:(id)descriptor error:(NSError* _Nullable*)error;
- (nullable id)newArgumentTableWithDescriptor:(id)descriptor error:(NSError* _Nullable*)error;
- (nullable id)newCommandAllocator;
- (nullable id)newCommandBuffer;
@end

NS_ASSUME_NONNULL_END
