#include "sampler.h"

#include "control.h"
#include "resource_ids.h"

using metalbench::AddressMode;
using metalbench::CompareFunction;

namespace {

AddressMode address_mode(MTLSamplerAddressMode mode) {
  switch (mode) {
    case MTLSamplerAddressModeClampToEdge:
      return AddressMode::clamp_to_edge;
    case MTLSamplerAddressModeRepeat:
      return AddressMode::repeat;
    case MTLSamplerAddressModeMirrorRepeat:
      return AddressMode::mirrored_repeat;
    case MTLSamplerAddressModeClampToZero:
      return AddressMode::clamp_to_zero;
    case MTLSamplerAddressModeClampToBorderColor:
      return AddressMode::clamp_to_border;
    case MTLSamplerAddressModeMirrorClampToEdge:
      break;
  }
  metal_double::violation("newSamplerStateWithDescriptor: MirrorClampToEdge is not supported here");
  return AddressMode::clamp_to_edge;
}

CompareFunction compare_function(MTLCompareFunction compare) {
  switch (compare) {
    case MTLCompareFunctionNever:
      return CompareFunction::never;
    case MTLCompareFunctionLess:
      return CompareFunction::less;
    case MTLCompareFunctionEqual:
      return CompareFunction::equal;
    case MTLCompareFunctionLessEqual:
      return CompareFunction::less_equal;
    case MTLCompareFunctionGreater:
      return CompareFunction::greater;
    case MTLCompareFunctionNotEqual:
      return CompareFunction::not_equal;
    case MTLCompareFunctionGreaterEqual:
      return CompareFunction::greater_equal;
    case MTLCompareFunctionAlways:
      return CompareFunction::always;
  }
  return CompareFunction::never;
}

metalbench::Filter filter(MTLSamplerMinMagFilter filter) {
  return filter == MTLSamplerMinMagFilterLinear ? metalbench::Filter::linear
                                                : metalbench::Filter::nearest;
}

void check(MTLSamplerDescriptor* descriptor) {
  if (descriptor.maxAnisotropy < 1 || descriptor.maxAnisotropy > 16) {
    metal_double::violation("newSamplerStateWithDescriptor: maxAnisotropy is not from 1 to 16");
  }
  if (descriptor.lodMinClamp > descriptor.lodMaxClamp) {
    metal_double::violation("newSamplerStateWithDescriptor: lodMinClamp exceeds lodMaxClamp");
  }
}

}  // namespace

@implementation DoubleSampler
@synthesize device = _device;
@synthesize label = _label;
@synthesize gpuResourceID = _gpuResourceID;

- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MTLSamplerDescriptor*)descriptor {
  if ((self = [super init]) != nil) {
    check(descriptor);
    if (descriptor.supportArgumentBuffers) _gpuResourceID = metal_double::enter(self);
    _device = device;
    _label = descriptor.label;
    _sampler.normalized = descriptor.normalizedCoordinates;
    _sampler.address[0] = address_mode(descriptor.sAddressMode);
    _sampler.address[1] = address_mode(descriptor.tAddressMode);
    _sampler.address[2] = address_mode(descriptor.rAddressMode);
    _sampler.mag_filter = filter(descriptor.magFilter);
    _sampler.min_filter = filter(descriptor.minFilter);
    _sampler.mip_filter = static_cast<metalbench::MipFilter>(descriptor.mipFilter);
    _sampler.border = static_cast<metalbench::BorderColor>(descriptor.borderColor);
    _sampler.compare = compare_function(descriptor.compareFunction);
    _sampler.max_anisotropy = static_cast<std::uint8_t>(descriptor.maxAnisotropy);
    _sampler.lod_min = descriptor.lodMinClamp;
    _sampler.lod_max = descriptor.lodMaxClamp;
  }
  return self;
}
- (void)dealloc {
  metal_double::leave(_gpuResourceID);
}
@end
