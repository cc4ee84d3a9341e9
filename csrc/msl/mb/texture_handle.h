// Common base of all texture types: the pointer to the descriptor, and access by index.
#pragma once

#include "names.h"
#include "texture_filter.h"

namespace metal {

enum class access { sample, read, write, read_write };
enum class component { x, y, z, w };
enum memory_coherence { memory_coherence_threadgroup, memory_coherence_device };

}  // namespace metal

namespace mb {

using metal::component;

// Errors are reported at the call of the method.
#define MB_IF_READABLE                                            \
  __attribute__((diagnose_if(a == metal::access::write,           \
                             "read: the texture is declared with access::write", "error")))
#define MB_IF_WRITABLE                                                                    \
  __attribute__((diagnose_if(a != metal::access::write && a != metal::access::read_write, \
                             "write: the texture is declared without access::write or "   \
                             "access::read_write", "error")))
#define MB_IF_SAMPLED                                                                       \
  __attribute__((diagnose_if(a != metal::access::sample,                                    \
                             "sample and gather: the texture is declared without "          \
                             "access::sample", "error")))

#define MB_IF_ATOMIC                                                                   \
  __attribute__((diagnose_if(a != metal::access::read_write || sizeof(T) != 4 || !mb::is_int<T>, \
                             "atomic functions are those of textures of int or uint with "         \
                             "access::read_write", "error")))

// Result type of a texel: four components, or one of a depth texture.
template <class T, bool depth, class W>
MB_FUNC auto texel_as(vec<W, 4> texel) {
  if constexpr (depth) return static_cast<T>(texel.x);
  else if constexpr (__is_same(T, W)) return texel;
  else return vec<T, 4>(texel);
}

template <int D, bool cube, class W, class See>
MB_LOOKUP auto sample_texture(const Texture* t, const Sampler& s, const Spot& spot,
                             const SampleOptions& options, See see) {
  using V = decltype(see(vec<W, 4>(0)));
  if (t == nullptr) return V(0);
  return static_cast<V>(sample_levels<D, cube, W>(*t, s, spot, options, see));
}

// Return the four texels of linear filtering in Metal's order: counter-clockwise from the lower
// left.
template <bool cube, class W, class See>
MB_LOOKUP vec<W, 4> gather_texels(const Texture* t, const Sampler& s, const Spot& spot,
                                 const int* offset, See see) {
  if (t == nullptr) return vec<W, 4>(0);
  const float width = s.normalized || cube ? static_cast<float>(t->base.width) : 1.0f;
  const float height = s.normalized || cube ? static_cast<float>(t->base.height) : 1.0f;
  const Taps x = taps_of(true, spot.at[0] * width, offset[0]);
  const Taps y = taps_of(true, spot.at[1] * height, offset[1]);
  auto fetch = [&](int i, int j) __attribute__((always_inline)) {
    if constexpr (cube) return see(cube_texel<W>(*t, t->base, spot.slice, x.at[i], y.at[j], true));
    else return see(fetch_texel<2, W>(*t, t->base, s, x.at[i], y.at[j], spot.slice, true));
  };
  return vec<W, 4>(fetch(0, 1), fetch(1, 1), fetch(1, 0), fetch(0, 0));
}

template <bool cube>
MB_FUNC Spot spot_of(vec<float, 3> p, u32 slice) {
  if constexpr (!cube) return Spot{{p.x, p.y, p.z}, slice};
  const FacePlace place = face_of(p.x, p.y, p.z);
  return Spot{{place.u, place.v, 0}, slice + place.face};
}
template <bool cube>
MB_FUNC Spot spot_of(vec<float, 2> p, u32 slice) {
  return Spot{{p.x, p.y, 0}, slice};
}
template <bool cube>
MB_FUNC Spot spot_of(float p, u32 slice) {
  return Spot{{p, 0, 0}, slice};
}

namespace types {
template <class T, metal::access a, TextureType type, bool depth>
struct TextureHandle {
  using W = texel_of<T>;
  static_assert(!depth || is_float<T>, "the elements of a depth texture are float");
  static constexpr TextureUse mb_use{
      type,
      __is_same(W, float) ? TexelKind::floating
                          : __is_same(W, int) ? TexelKind::signed_integer
                                              : TexelKind::unsigned_integer,
      TextureAccess(a), depth};

  const Texture* mb_texture = nullptr;

  MB_FUNC uint get_num_mip_levels() const { return level_count(mb_texture); }
  // A thread sees its own writes at once; GPUs do not guarantee that without a fence.
  MB_FUNC void fence() const {
    if (mb_texture != nullptr) MB_FENCE_TEXELS(mb_texture);
  }
  // Only fragment functions have derivatives; files with such functions still compile.
  template <class P>
  MB_FUNC float calculate_clamped_lod(const Sampler&, P) const {
    return 0;
  }
  template <class P>
  MB_FUNC float calculate_unclamped_lod(const Sampler&, P) const {
    return 0;
  }

 protected:
  MB_FUNC auto mb_read(u32 x, u32 y, u32 z, u32 lod) const {
    expect_place(x, y, z, lod);
    return texel_as<T, depth>(read_texel<W>(mb_texture, x, y, z, lod));
  }
  MB_FUNC void mb_write(vec<T, 4> value, u32 x, u32 y, u32 z, u32 lod) const {
    expect_place(x, y, z, lod);
    expect_texel(mb_texture, value);
    if constexpr (__is_same(T, W)) write_texel<W>(mb_texture, value, x, y, z, lod);
    else write_texel<W>(mb_texture, vec<W, 4>(value), x, y, z, lod);
  }
  // Return the array element for sampling: the nearest existing one.
  MB_FUNC u32 mb_layer(u32 layer, u32 faces) const {
    const u32 count = size_of_level<&TextureLevel::slices>(mb_texture, 0) / faces;
    return layer < count ? layer : count - 1;
  }

  template <int D, bool cube, class P>
  MB_FUNC auto mb_sample(const Sampler& s, P p, u32 slice, const SampleOptions& options) const {
    expect_coordinates(p, slice);
    auto all = [](vec<W, 4> texel) __attribute__((always_inline)) { return texel; };
    return texel_as<T, depth>(
        sample_texture<D, cube, W>(mb_texture, s, spot_of<cube>(p, slice), options, all));
  }
  template <bool cube, class P>
  MB_FUNC vec<T, 4> mb_gather(const Sampler& s, P p, u32 slice, const SampleOptions& options,
                              component c) const {
    expect_coordinates(p, slice);
    auto one = [c](vec<W, 4> texel) __attribute__((always_inline)) {
      return c == component::x   ? texel.x
             : c == component::y ? texel.y
             : c == component::z ? texel.z
                                 : texel.w;
    };
    return vec<T, 4>(
        gather_texels<cube, W>(mb_texture, s, spot_of<cube>(p, slice), options.offset, one));
  }
  template <bool cube, class P>
  MB_FUNC T mb_compare(const Sampler& s, P p, u32 slice, float reference,
                       const SampleOptions& options) const {
    expect_coordinates(p, slice);
    auto passed = [&s, reference](vec<W, 4> texel) __attribute__((always_inline)) {
      return passes(s.compare, reference, texel.x) ? 1.0f : 0.0f;
    };
    return T(sample_texture<2, cube, W>(mb_texture, s, spot_of<cube>(p, slice), options, passed));
  }
  template <class P>
  MB_FUNC vec<T, 4> mb_gather_compare(const Sampler& s, P p, u32 slice, float reference,
                                      const SampleOptions& options) const {
    expect_coordinates(p, slice);
    auto passed = [&s, reference](vec<W, 4> texel) __attribute__((always_inline)) {
      return passes(s.compare, reference, texel.x) ? 1.0f : 0.0f;
    };
    return vec<T, 4>(
        gather_texels<false, W>(mb_texture, s, spot_of<false>(p, slice), options.offset, passed));
  }
};
}  // namespace types

using namespace types;

}  // namespace mb
