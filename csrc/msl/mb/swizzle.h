// Swizzles of vec and packed_vec, restricted to the names that the source uses.
//
// Contract with the front end. Before <mb/prelude.h> it may define three object-like macros, one
// for each number of components of the SOURCE vector (the text after the dot, where it occurs):
//
//   #define MB_SWIZZLES_2 MB_P1(r,x) MB_P2(yx,y,x) MB_R2(xx,x,x) MB_R4(xyxy,x,y,x,y)
//   #define MB_SWIZZLES_3 ...
//   #define MB_SWIZZLES_4 ...
//
//   MB_Pk(name, a, b, ...)   k components, all different: can be read and assigned
//   MB_Rk(name, a, b, ...)   k components, some repeated: can only be read
//   MB_P1(name, a)           r g b a (never x y z w: those are the members)
//
// `name` is the spelling in the source (xyz, rgb, ...); a, b, ... are the members it selects,
// spelled x y z w. A name goes into every list whose vectors have all of its components: `.xy` into
// the three of them, `.z`-reaching ones into _3 and _4, `.w`-reaching ones into _4 only. An
// undefined list gets the single letters r g b a. A list must not repeat a name, and must contain
// only valid swizzles (not mixed sets such as `xg`, not more than four letters).
#pragma once

#ifndef MB_SWIZZLES_2
#define MB_SWIZZLES_2 MB_P1(r, x) MB_P1(g, y)
#endif
#ifndef MB_SWIZZLES_3
#define MB_SWIZZLES_3 MB_P1(r, x) MB_P1(g, y) MB_P1(b, z)
#endif
#ifndef MB_SWIZZLES_4
#define MB_SWIZZLES_4 MB_P1(r, x) MB_P1(g, y) MB_P1(b, z) MB_P1(a, w)
#endif

#define MB_P1(name, a)                                    \
  MB_FUNC constexpr T mb_get_##name() const { return a; } \
  MB_FUNC constexpr void mb_put_##name(T v) { a = v; }    \
  __declspec(property(get = mb_get_##name, put = mb_put_##name)) T name;

#define MB_P2(name, a, b)                                                       \
  MB_FUNC constexpr vec<T, 2> mb_get_##name() const { return vec<T, 2>(a, b); } \
  MB_FUNC constexpr void mb_put_##name(vec<T, 2> v) { a = v.x, b = v.y; }       \
  __declspec(property(get = mb_get_##name, put = mb_put_##name)) vec<T, 2> name;

#define MB_P3(name, a, b, c)                                                       \
  MB_FUNC constexpr vec<T, 3> mb_get_##name() const { return vec<T, 3>(a, b, c); } \
  MB_FUNC constexpr void mb_put_##name(vec<T, 3> v) { a = v.x, b = v.y, c = v.z; } \
  __declspec(property(get = mb_get_##name, put = mb_put_##name)) vec<T, 3> name;

#define MB_P4(name, a, b, c, d)                                                             \
  MB_FUNC constexpr vec<T, 4> mb_get_##name() const { return vec<T, 4>(a, b, c, d); }       \
  MB_FUNC constexpr void mb_put_##name(vec<T, 4> v) { a = v.x, b = v.y, c = v.z, d = v.w; } \
  __declspec(property(get = mb_get_##name, put = mb_put_##name)) vec<T, 4> name;

#define MB_R2(name, a, b)                                                       \
  MB_FUNC constexpr vec<T, 2> mb_get_##name() const { return vec<T, 2>(a, b); } \
  __declspec(property(get = mb_get_##name)) vec<T, 2> name;

#define MB_R3(name, a, b, c)                                                       \
  MB_FUNC constexpr vec<T, 3> mb_get_##name() const { return vec<T, 3>(a, b, c); } \
  __declspec(property(get = mb_get_##name)) vec<T, 3> name;

#define MB_R4(name, a, b, c, d)                                                       \
  MB_FUNC constexpr vec<T, 4> mb_get_##name() const { return vec<T, 4>(a, b, c, d); } \
  __declspec(property(get = mb_get_##name)) vec<T, 4> name;
