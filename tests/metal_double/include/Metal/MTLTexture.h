#pragma once

#import <Metal/MTLBuffer.h>
#import <Metal/MTLPixelFormat.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLTextureType) {
  MTLTextureType1D = 0,
  MTLTextureType1DArray = 1,
  MTLTextureType2D = 2,
  MTLTextureType2DArray = 3,
  MTLTextureType2DMultisample = 4,
  MTLTextureTypeCube = 5,
  MTLTextureTypeCubeArray = 6,
  MTLTextureType3D = 7,
  MTLTextureType2DMultisampleArray = 8,
  MTLTextureTypeTextureBuffer = 9,
};

typedef NS_OPTIONS(NSUInteger, MTLTextureUsage) {
  MTLTextureUsageUnknown = 0,
  MTLTextureUsageShaderRead = 0x01,
  MTLTextureUsageShaderWrite = 0x02,
  MTLTextureUsageRenderTarget = 0x04,
  MTLTextureUsagePixelFormatView = 0x10,
  MTLTextureUsageShaderAtomic = 0x20,
};

@interface MTLTextureDescriptor : NSObject
+ (MTLTextureDescriptor*)textureBufferDescriptorWithPixelFormat:(MTLPixelFormat)pixelFormat
                                                          width:(NSUInteger)width
                                                resourceOptions:(MTLResourceOptions)resourceOptions
                                                          usage:(MTLTextureUsage)usage;
@property(readwrite, nonatomic) MTLTextureType textureType;
@property(readwrite, nonatomic) MTLPixelFormat pixelFormat;
@property(readwrite, nonatomic) NSUInteger width;
@property(readwrite, nonatomic) NSUInteger height;
@property(readwrite, nonatomic) NSUInteger depth;
@property(readwrite, nonatomic) NSUInteger mipmapLevelCount;
@property(readwrite, nonatomic) NSUInteger sampleCount;
@property(readwrite, nonatomic) NSUInteger arrayLength;
@property(readwrite, nonatomic) MTLResourceOptions resourceOptions;
@property(readwrite, nonatomic) MTLStorageMode storageMode;
@property(readwrite, nonatomic) MTLHazardTrackingMode hazardTrackingMode;
@property(readwrite, nonatomic) MTLTextureUsage usage;
@property(readwrite, nonatomic) BOOL allowGPUOptimizedContents;
@end

@protocol MTLTexture <MTLResource>
@property(nullable, readonly) id<MTLBuffer> buffer;
@property(readonly) MTLTextureType textureType;
@property(readonly) MTLPixelFormat pixelFormat;
@property(readonly) NSUInteger width;
@property(readonly) NSUInteger height;
@property(readonly) NSUInteger depth;
@property(readonly) NSUInteger mipmapLevelCount;
@property(readonly) NSUInteger arrayLength;
@property(readonly) MTLTextureUsage usage;
@property(readonly) MTLResourceID gpuResourceID;
- (void)getBytes:(void*)pixelBytes
      bytesPerRow:(NSUInteger)bytesPerRow
    bytesPerImage:(NSUInteger)bytesPerImage
       fromRegion:(MTLRegion)region
      mipmapLevel:(NSUInteger)level
            slice:(NSUInteger)slice;
- (void)replaceRegion:(MTLRegion)region
          mipmapLevel:(NSUInteger)level
                slice:(NSUInteger)slice
            withBytes:(const void*)pixelBytes
          bytesPerRow:(NSUInteger)bytesPerRow
        bytesPerImage:(NSUInteger)bytesPerImage;
@end

NS_ASSUME_NONNULL_END
