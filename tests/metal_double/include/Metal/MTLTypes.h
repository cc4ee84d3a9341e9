#pragma once

#import <Metal/MTLDefines.h>

typedef struct {
  NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;

typedef struct {
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;

typedef struct MTLResourceID {
  uint64_t _impl;
} MTLResourceID;

MTL_INLINE MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
  return (MTLOrigin){x, y, z};
}

MTL_INLINE MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  return (MTLSize){width, height, depth};
}

MTL_INLINE MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z, NSUInteger width,
                                     NSUInteger height, NSUInteger depth) {
  return (MTLRegion){MTLOriginMake(x, y, z), MTLSizeMake(width, height, depth)};
}

MTL_INLINE MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width,
                                     NSUInteger height) {
  return MTLRegionMake3D(x, y, 0, width, height, 1);
}

MTL_INLINE MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) {
  return MTLRegionMake3D(x, 0, 0, width, 1, 1);
}
