#include "reflection.h"

#include "data_types.h"
#include "errors.h"
#include "pixel_formats.h"

using metalbench::Access;
using metalbench::Argument;
using metalbench::ArgumentKind;

@interface DoubleBinding : NSObject <MTLBinding> {
 @protected
  Argument _bound;
}
- (instancetype)initWithArgument:(const Argument&)bound;
@end

@implementation DoubleBinding
- (instancetype)initWithArgument:(const Argument&)bound {
  if ((self = [super init]) != nil) _bound = bound;
  return self;
}
- (NSString*)name {
  return metal_double::to_nsstring(_bound.name);
}
- (MTLBindingType)type {
  switch (_bound.kind) {
    case ArgumentKind::buffer:
      return MTLBindingTypeBuffer;
    case ArgumentKind::threadgroup:
      return MTLBindingTypeThreadgroupMemory;
    case ArgumentKind::texture:
      return MTLBindingTypeTexture;
    case ArgumentKind::sampler:
      return MTLBindingTypeSampler;
  }
  return MTLBindingTypeBuffer;
}
- (MTLBindingAccess)access {
  switch (_bound.access) {
    case Access::read_write:
      return MTLBindingAccessReadWrite;
    case Access::write:
      return MTLBindingAccessWriteOnly;
    case Access::read:
    case Access::sample:
      break;
  }
  return MTLBindingAccessReadOnly;
}
- (NSUInteger)index {
  return _bound.index;
}
- (BOOL)isUsed {
  return YES;
}
- (BOOL)isArgument {
  return YES;
}
@end

@interface DoubleBufferBinding : DoubleBinding <MTLBufferBinding>
@end

@implementation DoubleBufferBinding
- (NSUInteger)bufferAlignment {
  return _bound.alignment;
}
- (NSUInteger)bufferDataSize {
  return _bound.element_bytes;
}
- (MTLDataType)bufferDataType {
  return metal_double::data_type(_bound.type);
}
@end

@interface DoubleThreadgroupBinding : DoubleBinding <MTLThreadgroupBinding>
@end

@implementation DoubleThreadgroupBinding
- (NSUInteger)threadgroupMemoryAlignment {
  return 16;
}
- (NSUInteger)threadgroupMemoryDataSize {
  return _bound.element_bytes;
}
@end

@interface DoubleTextureBinding : DoubleBinding <MTLTextureBinding>
@end

@implementation DoubleTextureBinding
- (MTLTextureType)textureType {
  return metal_double::texture_type(_bound.texture.type);
}
- (MTLDataType)textureDataType {
  return metal_double::texel_type(_bound);
}
- (BOOL)isDepthTexture {
  return _bound.texture.depth;
}
- (NSUInteger)arrayLength {
  return _bound.texture.count;
}
@end

namespace {

id<MTLBinding> make_binding(const Argument& argument) {
  switch (argument.kind) {
    case ArgumentKind::buffer:
      return [[DoubleBufferBinding alloc] initWithArgument:argument];
    case ArgumentKind::threadgroup:
      return [[DoubleThreadgroupBinding alloc] initWithArgument:argument];
    case ArgumentKind::texture:
      return [[DoubleTextureBinding alloc] initWithArgument:argument];
    case ArgumentKind::sampler:
      return [[DoubleBinding alloc] initWithArgument:argument];
  }
  return nil;
}

}  // namespace

@implementation MTLComputePipelineReflection
- (instancetype)initWithInfo:(const metalbench::PipelineInfo&)info {
  if ((self = [super init]) != nil) {
    NSMutableArray<id<MTLBinding>>* bindings = [NSMutableArray array];
    // Metal promises no order; the reverse one shows who relies on it.
    for (auto argument = info.arguments.rbegin(); argument != info.arguments.rend(); ++argument) {
      [bindings addObject:make_binding(*argument)];
    }
    _bindings = bindings;
  }
  return self;
}
@end
