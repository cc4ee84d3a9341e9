// The classes of Metal that only carry what somebody wants.
#import <Metal/Metal.h>

#include <limits>

#include "pipeline.h"

@implementation MTLTextureDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _textureType = MTLTextureType2D;
    _pixelFormat = MTLPixelFormatRGBA8Unorm;
    _width = _height = _depth = 1;
    _mipmapLevelCount = _sampleCount = _arrayLength = 1;
    _usage = MTLTextureUsageShaderRead;
    _storageMode = MTLStorageModeShared;
    _allowGPUOptimizedContents = YES;
  }
  return self;
}
+ (MTLTextureDescriptor*)textureBufferDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                          width:(NSUInteger)width
                                                resourceOptions:(MTLResourceOptions)resourceOptions
                                                          usage:(MTLTextureUsage)usage {
  MTLTextureDescriptor* descriptor = [[MTLTextureDescriptor alloc] init];
  descriptor.textureType = MTLTextureTypeTextureBuffer;
  descriptor.pixelFormat = pixelFormat;
  descriptor.width = width;
  descriptor.resourceOptions = resourceOptions;
  descriptor.usage = usage;
  return descriptor;
}
@end

@implementation MTLSamplerDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _maxAnisotropy = 1;
    _normalizedCoordinates = YES;
    _lodMaxClamp = std::numeric_limits<float>::max();
  }
  return self;
}
@end

@implementation MTLBinaryArchiveDescriptor
@end

@implementation MTLComputePipelineDescriptor
- (id)copyWithZone:(NSZone*)__attribute__((unused)) zone {
  MTLComputePipelineDescriptor* copy = [[MTLComputePipelineDescriptor alloc] init];
  copy.label = self.label;
  copy.computeFunction = self.computeFunction;
  copy.threadGroupSizeIsMultipleOfThreadExecutionWidth =
      self.threadGroupSizeIsMultipleOfThreadExecutionWidth;
  copy.maxTotalThreadsPerThreadgroup = self.maxTotalThreadsPerThreadgroup;
  copy.binaryArchives = self.binaryArchives;
  copy.requiredThreadsPerThreadgroup = self.requiredThreadsPerThreadgroup;
  return copy;
}
@end

@implementation MTLCaptureDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) _destination = MTLCaptureDestinationDeveloperTools;
  return self;
}
@end

@implementation MTLCounterSampleBufferDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) _label = @"";
  return self;
}
@end

@implementation MTLComputePassSampleBufferAttachmentDescriptor
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _startOfEncoderSampleIndex = MTLCounterDontSample;
    _endOfEncoderSampleIndex = MTLCounterDontSample;
  }
  return self;
}
@end

@implementation MTLComputePassSampleBufferAttachmentDescriptorArray {
  MTLComputePassSampleBufferAttachmentDescriptor* _slots[4];
}
- (MTLComputePassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex {
  if (attachmentIndex >= 4) return nil;
  if (_slots[attachmentIndex] == nil) {
    _slots[attachmentIndex] = [[MTLComputePassSampleBufferAttachmentDescriptor alloc] init];
  }
  return _slots[attachmentIndex];
}
@end

@implementation MTLComputePassDescriptor
+ (MTLComputePassDescriptor*)computePassDescriptor {
  return [[MTLComputePassDescriptor alloc] init];
}
- (instancetype)init {
  if ((self = [super init]) != nil) {
    _sampleBufferAttachments = [[MTLComputePassSampleBufferAttachmentDescriptorArray alloc] init];
  }
  return self;
}
@end
