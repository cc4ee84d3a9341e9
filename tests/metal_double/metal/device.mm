#include "device.h"

#include <mach/vm_page_size.h>

#include <cstring>
#include <string>

#include "archive.h"
#include "buffer.h"
#include "control.h"
#include "counters.h"
#include "engine.h"
#include "errors.h"
#include "fence.h"
#include "gpu_clock.h"
#include "library.h"
#include "metal4.h"
#include "pipeline.h"
#include "queue.h"
#include "reflection.h"
#include "residency.h"
#include "sampler.h"
#include "texture.h"

using metal_double::is_on;
using metal_double::report;
using metal_double::Switch;
using metal_double::take;
using metal_double::violation;

namespace {
constexpr NSUInteger gibibyte = NSUInteger{1} << 30;
constexpr NSUInteger most_buffer_bytes = 16 * gibibyte;
constexpr NSUInteger texture_alignment = 16;
constexpr NSUInteger most_samples = 4096;
constexpr double first_with_metal4 = 26;
constexpr auto family_metal4 = static_cast<MTLGPUFamily>(5002);
}  // namespace

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  return is_on(Switch::no_device) ? nil : [[DoubleDevice alloc] init];
}

@implementation DoubleDevice {
  metal_double::Allocated _allocated;
}

- (instancetype)init {
  if ((self = [super init]) != nil) _allocated = std::make_shared<std::atomic<NSUInteger>>(0);
  return self;
}
- (BOOL)respondsToSelector:(SEL)selector {
  if (selector == @selector(newResidencySetWithDescriptor:error:)) {
    return !is_on(Switch::no_residency);
  }
  if (selector == @selector(newMTL4CommandQueueWithDescriptor:error:)) {
    return metal_double::value(Switch::os_major) >= first_with_metal4;
  }
  return [super respondsToSelector:selector];
}

- (NSString*)name {
  return @"Apple M4 Max";
}
- (uint64_t)registryID {
  return 1;
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(1024, 1024, 1024);
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return 32 * 1024;
}
- (BOOL)hasUnifiedMemory {
  return YES;
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return 24 * gibibyte;
}
- (NSUInteger)maxBufferLength {
  return most_buffer_bytes;
}
- (NSUInteger)currentAllocatedSize {
  return *_allocated;
}
- (NSArray<id<MTLCounterSet>>*)counterSets {
  return is_on(Switch::no_counters) ? nil : metal_double::counter_sets();
}
- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily {
  const double set = metal_double::value(Switch::gpu_family);
  const NSInteger newest =
      set == 0 ? MTLGPUFamilyApple9 : MTLGPUFamilyApple1 + static_cast<NSInteger>(set) - 1;
  if (gpuFamily == family_metal4) {
    return newest >= MTLGPUFamilyApple7 &&
           metal_double::value(Switch::os_major) >= first_with_metal4;
  }
  if (gpuFamily == MTLGPUFamilyMac2 || gpuFamily == MTLGPUFamilyMetal3) {
    return newest >= MTLGPUFamilyApple7;
  }
  return (gpuFamily >= MTLGPUFamilyApple1 && gpuFamily <= newest) ||
         (gpuFamily >= MTLGPUFamilyCommon1 && gpuFamily <= MTLGPUFamilyCommon3);
}
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint {
  return samplingPoint == MTLCounterSamplingPointAtStageBoundary && !is_on(Switch::no_counters);
}
- (void)sampleTimestamps:(MTLTimestamp*)cpuTimestamp gpuTimestamp:(MTLTimestamp*)gpuTimestamp {
  *cpuTimestamp = metal_double::host_ns();
  *gpuTimestamp = static_cast<MTLTimestamp>(
      metal_double::to_ticks(static_cast<double>(*cpuTimestamp)) + metal_double::counter_offset);
}
- (NSUInteger)minimumLinearTextureAlignmentForPixelFormat:(MTLPixelFormat)
                                                              __attribute__((unused)) format {
  return texture_alignment;
}
- (NSUInteger)minimumTextureBufferAlignmentForPixelFormat:(MTLPixelFormat)
                                                              __attribute__((unused)) format {
  return texture_alignment;
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)maxCommandBufferCount {
  if (is_on(Switch::no_queue)) return nil;
  return [[DoubleQueue alloc] initWithDevice:self];
}
- (id<MTLFence>)newFence {
  return [[DoubleFence alloc] initWithDevice:self];
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  if (length == 0) violation("newBufferWithLength: length is 0");
  if (length == 0 || length > most_buffer_bytes || take(Switch::out_of_memory)) return nil;
  try {
    return [[DoubleBuffer alloc] initWithDevice:self
                                        storage:metal_double::new_storage(length)
                                        options:options
                                      allocated:_allocated
                                    deallocator:nil];
  } catch (const std::exception&) {
    return nil;
  }
}
- (id<MTLBuffer>)newBufferWithBytes:(const void*)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options {
  id<MTLBuffer> buffer = [self newBufferWithLength:length options:options];
  if (buffer != nil) std::memcpy(buffer.contents, pointer, length);
  return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* pointer, NSUInteger length))deallocator {
  const bool is_page = reinterpret_cast<uintptr_t>(pointer) % vm_page_size == 0;
  if (length == 0 || length % vm_page_size != 0 || !is_page) {
    violation("newBufferWithBytesNoCopy: pointer and length must be whole pages of " +
              std::to_string(vm_page_size) + " bytes");
    return nil;
  }
  if (length > most_buffer_bytes || take(Switch::out_of_memory)) return nil;
  return [[DoubleBuffer alloc] initWithDevice:self
                                      storage:metal_double::storage_over(pointer, length)
                                      options:options
                                    allocated:_allocated
                                  deallocator:deallocator];
}
- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor*)descriptor {
  if (take(Switch::out_of_memory)) return nil;
  return metal_double::make_texture(self, descriptor, _allocated);
}
- (id<MTLSamplerState>)newSamplerStateWithDescriptor:(MTLSamplerDescriptor*)descriptor {
  if (is_on(Switch::no_sampler)) return nil;
  return [[DoubleSampler alloc] initWithDevice:self descriptor:descriptor];
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(__autoreleasing NSError**)error {
  return [[DoubleLibrary alloc] initWithDevice:self source:source options:options error:error];
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLAutoreleasedComputePipelineReflection*)reflection
                                    error:(__autoreleasing NSError**)error {
  DoublePipeline* pipeline = [[DoublePipeline alloc] initWithDevice:self
                                                         descriptor:descriptor
                                                              error:error];
  constexpr NSUInteger wanted = MTLPipelineOptionArgumentInfo | MTLPipelineOptionBufferTypeInfo;
  if (pipeline != nil && reflection != nullptr && (options & wanted) != 0) {
    auto* function = static_cast<DoubleFunction*>(descriptor.computeFunction);
    *reflection = [[MTLComputePipelineReflection alloc] initWithInfo:pipeline->_pipeline->info()
                                                              source:function->_library->_source];
  }
  return pipeline;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:
                                                                 (__autoreleasing NSError**)error {
  MTLComputePipelineDescriptor* descriptor = [[MTLComputePipelineDescriptor alloc] init];
  descriptor.computeFunction = function;
  return [[DoublePipeline alloc] initWithDevice:self descriptor:descriptor error:error];
}
- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                                                 error:(NSError**)error {
  return [[DoubleArchive alloc] initWithDevice:self descriptor:descriptor error:error];
}
- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:
                                  (MTLCounterSampleBufferDescriptor*)descriptor
                                                             error:(NSError**)error {
  if (is_on(Switch::no_counters) || descriptor.counterSet == nil || descriptor.sampleCount == 0 ||
      descriptor.sampleCount > most_samples) {
    report(error, MTLCounterErrorDomain, MTLCounterSampleBufferErrorInvalid,
           "Invalid counter sample buffer descriptor");
    return nil;
  }
  return [[DoubleCounterSampleBuffer alloc] initWithDevice:self descriptor:descriptor];
}
- (id)newMTL4CommandQueueWithDescriptor:(MTL4CommandQueueDescriptor*)__attribute__((unused))
                                        descriptor
                                  error:(NSError**)error {
  if (is_on(Switch::no_queue)) {
    report(error, @"MTL4CommandQueueErrorDomain", 6, "no queue");
    return nil;
  }
  return [[Double4Queue alloc] initWithDevice:self];
}
- (id)newArgumentTableWithDescriptor:(MTL4ArgumentTableDescriptor*)descriptor
                               error:(NSError**)__attribute__((unused)) error {
  return [[DoubleArgumentTable alloc] initWithDescriptor:descriptor];
}
- (id)newCommandAllocator {
  return [[DoubleAllocator alloc] init];
}
- (id)newCommandBuffer {
  return [[Double4CommandBuffer alloc] init];
}
- (id)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor
                              error:(NSError**)__attribute__((unused)) error {
  return [[DoubleResidencySet alloc] initWithDevice:self descriptor:descriptor];
}
@end
