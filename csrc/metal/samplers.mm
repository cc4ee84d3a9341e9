#include "metal/samplers.h"

#include "core/errors.h"

namespace metalbench::metal {
namespace {

MTLSamplerAddressMode mode_of(AddressMode mode) {
  switch (mode) {
    case AddressMode::clamp_to_zero:
      return MTLSamplerAddressModeClampToZero;
    case AddressMode::clamp_to_edge:
      return MTLSamplerAddressModeClampToEdge;
    case AddressMode::repeat:
      return MTLSamplerAddressModeRepeat;
    case AddressMode::mirrored_repeat:
      return MTLSamplerAddressModeMirrorRepeat;
    case AddressMode::clamp_to_border:
      return MTLSamplerAddressModeClampToBorderColor;
  }
  return MTLSamplerAddressModeClampToEdge;
}

MTLSamplerMinMagFilter filter_of(Filter filter) {
  return filter == Filter::linear ? MTLSamplerMinMagFilterLinear : MTLSamplerMinMagFilterNearest;
}

MTLSamplerMipFilter filter_of(MipFilter filter) {
  switch (filter) {
    case MipFilter::none:
      return MTLSamplerMipFilterNotMipmapped;
    case MipFilter::nearest:
      return MTLSamplerMipFilterNearest;
    case MipFilter::linear:
      return MTLSamplerMipFilterLinear;
  }
  return MTLSamplerMipFilterNotMipmapped;
}

MTLSamplerBorderColor color_of(BorderColor color) {
  switch (color) {
    case BorderColor::transparent_black:
      return MTLSamplerBorderColorTransparentBlack;
    case BorderColor::opaque_black:
      return MTLSamplerBorderColorOpaqueBlack;
    case BorderColor::opaque_white:
      return MTLSamplerBorderColorOpaqueWhite;
  }
  return MTLSamplerBorderColorTransparentBlack;
}

MTLCompareFunction function_of(CompareFunction function) {
  switch (function) {
    case CompareFunction::none:
    case CompareFunction::never:
      return MTLCompareFunctionNever;
    case CompareFunction::less:
      return MTLCompareFunctionLess;
    case CompareFunction::less_equal:
      return MTLCompareFunctionLessEqual;
    case CompareFunction::greater:
      return MTLCompareFunctionGreater;
    case CompareFunction::greater_equal:
      return MTLCompareFunctionGreaterEqual;
    case CompareFunction::equal:
      return MTLCompareFunctionEqual;
    case CompareFunction::not_equal:
      return MTLCompareFunctionNotEqual;
    case CompareFunction::always:
      return MTLCompareFunctionAlways;
  }
  return MTLCompareFunctionNever;
}

}  // namespace

id<MTLSamplerState> make_sampler(id<MTLDevice> device, const Sampler& sampler,
                                 const std::string& where) {
  auto* descriptor = [[MTLSamplerDescriptor alloc] init];
  descriptor.normalizedCoordinates = sampler.normalized;
  descriptor.sAddressMode = mode_of(sampler.address[0]);
  descriptor.tAddressMode = mode_of(sampler.address[1]);
  descriptor.rAddressMode = mode_of(sampler.address[2]);
  descriptor.magFilter = filter_of(sampler.mag_filter);
  descriptor.minFilter = filter_of(sampler.min_filter);
  descriptor.mipFilter = filter_of(sampler.mip_filter);
  descriptor.borderColor = color_of(sampler.border);
  descriptor.compareFunction = function_of(sampler.compare);
  descriptor.maxAnisotropy = sampler.max_anisotropy;
  descriptor.lodMinClamp = sampler.lod_min;
  descriptor.lodMaxClamp = sampler.lod_max;
  descriptor.supportArgumentBuffers = YES;  // gives it an id for argument tables
  descriptor.label = @"metalbench";
  const id<MTLSamplerState> state = [device newSamplerStateWithDescriptor:descriptor];
  if (state == nil) throw Error(where + ": Metal refuses the sampler; the GPU may not support it");
  return state;
}

}  // namespace metalbench::metal
