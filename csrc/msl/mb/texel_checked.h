// Reports of texel accesses from checked builds to the runtime: reads, writes, accesses outside of
// the texture, and uninitialised values. Call directly from the function that the kernel calls: its
// return address is the reported place.
#pragma once

#include "access.h"
#if MB_SHADOW
#include "cpu/given.h"
#endif

namespace mb {

#if MB_CHECKED

MB_FUNC MB_UNTRACED void touch_texel(const volatile void* at, u32 bytes, AccessKind kind,
                                     const void* pc) {
  Fiber* self = current();
  self->bundle->group->runtime->access(self, at, bytes, kind, pc);
}
MB_FUNC MB_UNTRACED void miss_texel(const OutsideTexel& texel, const void* pc) {
  // The texture is not bound.
  if (texel.texture == nullptr) return;
  const Undefined what{Finding::texel, {nullptr, nullptr},
                       {reinterpret_cast<uptr>(&texel), 0}, nullptr, pc};
  Fiber* self = current();
  self->bundle->group->runtime->undefined(self, &what);
}
#define MB_TEXEL_ACCESS(at, bytes, kind) \
  mb::touch_texel(at, bytes, mb::AccessKind::kind, __builtin_return_address(0))
#define MB_OUTSIDE(t, x, y, z, lod, is_write) \
  mb::miss_texel({t, {x, y, z}, lod, is_write}, __builtin_return_address(0))

#else
#define MB_TEXEL_ACCESS(at, bytes, kind) ((void)0)
#define MB_OUTSIDE(t, x, y, z, lod, is_write) ((void)0)
#endif

#if MB_SHADOW

// Check the initialisation of a texel's coordinates.
MB_FUNC void expect_place(u32 x, u32 y, u32 z, u32 lod) {
  const u32 place[4] = {x, y, z, lod};
  expect_given(place, sizeof place, "an uninitialised value is used as a texel coordinate");
}
// Check sample coordinates; the fourth of three components is padding.
template <class P>
MB_FUNC void expect_coordinates(P coordinates, u32 slice) {
  constexpr const char* words = "an uninitialised value is used as a sample coordinate";
  expect_given(&coordinates, sizeof(P) == 16 ? 12 : sizeof(P), words);
  expect_given(&slice, sizeof slice, words);
}
template <class V>
MB_FUNC void expect_texel(const Texture* t, const V& value) {
  const V kept = value;
  const bool is_packed = t != nullptr && t->channel > Channel::float32;
  const u32 components = t == nullptr ? 0 : is_packed ? 4 : t->channels;
  expect_given(&kept, components * (sizeof(V) / 4),
               "an uninitialised value is written to a texture");
}

#else
MB_FUNC void expect_place(u32, u32, u32, u32) {}
template <class P>
MB_FUNC void expect_coordinates(P, u32) {}
template <class V>
MB_FUNC void expect_texel(const Texture*, const V&) {}
#endif

}  // namespace mb
