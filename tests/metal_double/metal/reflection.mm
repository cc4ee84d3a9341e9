#include "reflection.h"

#include <cctype>
#include <ranges>

#include "control.h"
#include "data_types.h"
#include "errors.h"
#include "pixel_formats.h"
#include "tensor.h"

using metal_double::is_on;
using metal_double::Switch;
using metalbench::Access;
using metalbench::Argument;
using metalbench::ArgumentKind;

@interface DoubleBinding : NSObject <MTLBinding> {
 @protected
  Argument _bound;
  BOOL _used;
  BOOL _variable;  // declared inside of the kernel, so that it is never bound
}
- (instancetype)initWithArgument:(const Argument&)bound used:(BOOL)used;
@end

@implementation DoubleBinding
- (instancetype)initWithArgument:(const Argument&)bound used:(BOOL)used {
  if ((self = [super init]) != nil) {
    _bound = bound;
    _used = used;
  }
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
  return _used;
}
- (BOOL)isArgument {
  return !_variable;
}
@end

@interface DoubleBufferBinding : DoubleBinding <MTLBufferBinding>
@end

@implementation DoubleBufferBinding
- (NSUInteger)bufferAlignment {
  return metal_double::alignment_of(_bound);
}
- (NSUInteger)bufferDataSize {
  return _bound.element_bytes;
}
- (MTLDataType)bufferDataType {
  return metal_double::data_type(_bound.type);
}
@end

@interface DoubleThreadgroupBinding : DoubleBinding <MTLThreadgroupBinding>
// All variables of the kernel's own together; they are counted apart from its parameters.
- (instancetype)initWithVariablesOf:(NSUInteger)bytes;
@end

@implementation DoubleThreadgroupBinding
- (instancetype)initWithVariablesOf:(NSUInteger)bytes {
  Argument variables;
  variables.name = "variables";
  variables.kind = ArgumentKind::threadgroup;
  variables.access = Access::read_write;
  variables.element_bytes = static_cast<std::uint32_t>(bytes);
  if ((self = [super initWithArgument:variables used:YES]) != nil) _variable = YES;
  return self;
}
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

// What macOS 26 added, which the headers do not declare.
@interface DoubleTensorBinding : DoubleBinding
- (instancetype)initWithArgument:(const Argument&)bound rank:(NSUInteger)rank used:(BOOL)used;
@property(readonly) NSInteger tensorDataType;
@property(readonly) MTLTensorExtents* dimensions;
@end

@implementation DoubleTensorBinding {
  NSUInteger _rank;
}
- (instancetype)initWithArgument:(const Argument&)bound rank:(NSUInteger)rank used:(BOOL)used {
  if ((self = [super initWithArgument:bound used:used]) != nil) _rank = rank;
  return self;
}
- (MTLBindingType)type {
  constexpr NSInteger tensor = 37;
  return static_cast<MTLBindingType>(tensor);
}
- (NSInteger)tensorDataType {
  return metal_double::tensor_data_type(_bound.type);
}
- (MTLTensorExtents*)dimensions {
  const std::vector<NSInteger> dynamic(_rank, -1);
  return [[MTLTensorExtents alloc] initWithRank:_rank values:dynamic.data()];
}
@end

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether the name is in the source anywhere but where it is declared.
bool is_used(const std::string& name, const std::string& source) {
  int mentions = 0;
  for (std::size_t at = source.find(name); at != std::string::npos;
       at = source.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_letter(source[at - 1]);
    if (begins && (end == source.size() || !is_letter(source[end]))) ++mentions;
  }
  return mentions > 1;
}

id<MTLBinding> make_binding(const Argument& argument, BOOL used) {
  switch (argument.kind) {
    case ArgumentKind::buffer:
      return [[DoubleBufferBinding alloc] initWithArgument:argument used:used];
    case ArgumentKind::threadgroup:
      return [[DoubleThreadgroupBinding alloc] initWithArgument:argument used:used];
    case ArgumentKind::texture:
      return [[DoubleTextureBinding alloc] initWithArgument:argument used:used];
    case ArgumentKind::sampler:
      return [[DoubleBinding alloc] initWithArgument:argument used:used];
  }
  return nil;
}

}  // namespace

@implementation MTLComputePipelineReflection
- (instancetype)initWithInfo:(const metalbench::PipelineInfo&)info
                      source:(const std::string&)source {
  if ((self = [super init]) != nil) {
    NSMutableArray<id<MTLBinding>>* bindings = [NSMutableArray array];
    // Metal promises no order; the reverse one shows who relies on it.
    for (const Argument& argument : info.arguments | std::views::reverse) {
      const bool used = is_used(argument.name, source);
      if (metalbench::is_extents(argument) || (!used && is_on(Switch::hide_unused))) continue;
      const NSUInteger rank = metal_double::rank_of(info, argument);
      [bindings addObject:metal_double::is_tensor(info, argument)
                              ? [[DoubleTensorBinding alloc] initWithArgument:argument
                                                                         rank:rank
                                                                         used:used]
                              : make_binding(argument, used)];
    }
    if (info.threadgroup_bytes != 0) {
      const NSUInteger bytes = info.threadgroup_bytes;
      [bindings insertObject:[[DoubleThreadgroupBinding alloc] initWithVariablesOf:bytes]
                     atIndex:0];
    }
    _bindings = bindings;
  }
  return self;
}
@end
