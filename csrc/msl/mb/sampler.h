// metal::sampler and its declaration: constexpr sampler s(filter::linear, ...).
#pragma once

#include "vec.h"

namespace metal {

enum class coord { normalized, pixel };
enum class filter { nearest, linear };
enum class mag_filter { nearest, linear };
enum class min_filter { nearest, linear };
enum class mip_filter { none, nearest, linear };
#define MB_ADDRESS_MODES \
  { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border }
enum class address MB_ADDRESS_MODES;
enum class s_address MB_ADDRESS_MODES;
enum class t_address MB_ADDRESS_MODES;
enum class r_address MB_ADDRESS_MODES;
#undef MB_ADDRESS_MODES
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class compare_func {
  none, never, less, less_equal, greater, greater_equal, equal, not_equal, always,
};
enum class reduction { weighted_average, minimum, maximum };

struct max_anisotropy {
  int mb_value;
  MB_FUNC constexpr explicit max_anisotropy(int value) : mb_value(value) {}
};
struct lod_clamp {
  float mb_least, mb_most;
  MB_FUNC constexpr lod_clamp(float least, float most) : mb_least(least), mb_most(most) {}
};

struct sampler : mb::Sampler {
  template <class... A>
  MB_FUNC constexpr sampler(A... a) {
    (mb_set(a), ...);
  }

 private:
  MB_FUNC constexpr void mb_set(const mb::Sampler& s) { static_cast<mb::Sampler&>(*this) = s; }
  MB_FUNC constexpr void mb_set(metal::coord c) { normalized = c == metal::coord::normalized; }
  MB_FUNC constexpr void mb_set(metal::filter f) { mag_filter = min_filter = mb::Filter(f); }
  MB_FUNC constexpr void mb_set(metal::mag_filter f) { mag_filter = mb::Filter(f); }
  MB_FUNC constexpr void mb_set(metal::min_filter f) { min_filter = mb::Filter(f); }
  MB_FUNC constexpr void mb_set(metal::mip_filter f) { mip_filter = mb::MipFilter(f); }
  MB_FUNC constexpr void mb_set(metal::address a) {
    address[0] = address[1] = address[2] = mb::AddressMode(a);
  }
  MB_FUNC constexpr void mb_set(metal::s_address a) { address[0] = mb::AddressMode(a); }
  MB_FUNC constexpr void mb_set(metal::t_address a) { address[1] = mb::AddressMode(a); }
  MB_FUNC constexpr void mb_set(metal::r_address a) { address[2] = mb::AddressMode(a); }
  MB_FUNC constexpr void mb_set(metal::border_color c) { border = mb::BorderColor(c); }
  MB_FUNC constexpr void mb_set(metal::compare_func f) { compare = mb::CompareFunction(f); }
  MB_FUNC constexpr void mb_set(metal::reduction r) { reduction = mb::SampleReduction(r); }
  MB_FUNC constexpr void mb_set(metal::max_anisotropy m) {
    max_anisotropy = static_cast<mb::u8>(m.mb_value);
  }
  MB_FUNC constexpr void mb_set(metal::lod_clamp c) {
    lod_min = c.mb_least;
    lod_max = c.mb_most;
  }
};

struct bias {
  float mb_value;
  MB_FUNC explicit bias(float value) : mb_value(value) {}
};
struct level {
  float mb_value;
  MB_FUNC explicit level(float value) : mb_value(value) {}
};
struct min_lod_clamp {
  float mb_value;
  MB_FUNC explicit min_lod_clamp(float value) : mb_value(value) {}
};
struct gradient2d {
  vec<float, 2> mb_x, mb_y;
  MB_FUNC gradient2d(vec<float, 2> x, vec<float, 2> y) : mb_x(x), mb_y(y) {}
};
struct gradient3d {
  vec<float, 3> mb_x, mb_y;
  MB_FUNC gradient3d(vec<float, 3> x, vec<float, 3> y) : mb_x(x), mb_y(y) {}
};
struct gradientcube : gradient3d {
  using gradient3d::gradient3d;
};

}  // namespace metal

namespace mb {

// Options that may follow the coordinates of a sample.
struct SampleOptions {
  float lod = 0;
  float min_lod = 0;
  bool gradient = false;
  vec<float, 3> x = 0, y = 0;
  int offset[3] = {0, 0, 0};

  template <class... A>
  MB_FUNC explicit SampleOptions(A... a) {
    (set(a), ...);
  }
  MB_FUNC void set(metal::bias b) { lod = b.mb_value; }
  MB_FUNC void set(metal::level l) { lod = l.mb_value; }
  MB_FUNC void set(metal::min_lod_clamp m) { min_lod = m.mb_value; }
  MB_FUNC void set(metal::gradient2d g) {
    set(metal::gradient3d(vec<float, 3>(g.mb_x, 0), vec<float, 3>(g.mb_y, 0)));
  }
  MB_FUNC void set(metal::gradient3d g) {
    gradient = true;
    x = g.mb_x;
    y = g.mb_y;
  }
  MB_FUNC void set(vec<int, 2> o) {
    offset[0] = o.x;
    offset[1] = o.y;
  }
  MB_FUNC void set(vec<int, 3> o) {
    set(vec<int, 2>(o.x, o.y));
    offset[2] = o.z;
  }
};

}  // namespace mb
