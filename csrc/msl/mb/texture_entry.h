// Binding of texture and sampler parameters: mb::texture<i>, mb::sampler<i>.
#pragma once

#include "array.h"
#include "entry.h"
#include "texture.h"

namespace mb {

template <int index>
struct texture {};
template <int index>
struct sampler {};

MB_FUNC const Texture* textures_of(const Launch* launch) {
  return in_device_memory<const Texture>(launch->textures);
}
MB_FUNC const Sampler* samplers_of(const Launch* launch) {
  return in_device_memory<const Sampler>(launch->samplers);
}

// The descriptor is copied: stores to texels cannot alias it, so its loads are hoisted.
template <int index, class P>
struct Bound<texture<index>, P> {
  Texture kept;
  MB_FUNC Bound(const Launch* launch, const u8*) : kept(textures_of(launch)[index]) {}
  MB_FUNC bare<P> get(const Place&) {
    bare<P> result;
    result.mb_texture = &kept;
    return result;
  }
};
template <int index, class T, unsigned long N>
struct Bound<texture<index>, metal::array<T, N>> {
  metal::array<T, N> all;
  MB_FUNC Bound(const Launch* launch, const u8*) {
    for (unsigned long i = 0; i < N; ++i) all[i].mb_texture = textures_of(launch) + index + i;
  }
  MB_FUNC const metal::array<T, N>& get(const Place&) { return all; }
};
template <int index, class T, unsigned long N>
struct Bound<texture<index>, const metal::array<T, N>&> : Bound<texture<index>, metal::array<T, N>> {
  using Bound<texture<index>, metal::array<T, N>>::Bound;
};
template <int index>
struct Bound<sampler<index>, metal::sampler> {
  metal::sampler kept;
  MB_FUNC Bound(const Launch* launch, const u8*) : kept(samplers_of(launch)[index]) {}
  MB_FUNC metal::sampler get(const Place&) { return kept; }
};
template <int index, unsigned long N>
struct Bound<sampler<index>, metal::array<metal::sampler, N>> {
  metal::array<metal::sampler, N> all;
  MB_FUNC Bound(const Launch* launch, const u8*) {
    for (unsigned long i = 0; i < N; ++i) all[i] = samplers_of(launch)[index + i];
  }
  MB_FUNC metal::array<metal::sampler, N> get(const Place&) { return all; }
};

template <class T, metal::access a, TextureType type, bool depth>
constexpr TextureUse use_of(const TextureHandle<T, a, type, depth>*) {
  return TextureHandle<T, a, type, depth>::mb_use;
}
template <class T>
struct opaque_use<T, decltype(void(use_of(static_cast<const T*>(nullptr))))> {
  static constexpr u32 count = 1;
  static constexpr TextureUse use = use_of(static_cast<const T*>(nullptr));
};
template <class T, unsigned long N>
struct opaque_use<metal::array<T, N>, void> {
  static constexpr u32 count = N;
  static constexpr TextureUse use = opaque_use<T>::use;
};

}  // namespace mb
