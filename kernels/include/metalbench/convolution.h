// Convolutions as matrix products without a matrix of patches: sources (tiles.h) that find the
// element of a patch where it lies in the input, channels last. Rows of A are output pixels,
// columns of A and of the filters (filters, taps, channels) are taps times channels. One source
// serves one, two and three dimensions: extents of kernel and input are 1 where there is none, and
// the compiler drops what is divided by 1. Those of other steps, and transposed ones, are in
// window_products.h.
#pragma once
#include <metal_stdlib>

#include "metalbench/epilogues.h"
#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// An input; pixels begin `pitch` elements apart, which is `channels` unless it is part of a wider
// one.
struct Volume {
  uint batch;
  uint depth;
  uint height;
  uint width;
  uint channels;
  uint pitch;
};

// A pixel of a batch of outputs.
struct Pixel {
  uint image;
  int3 at;  // x, y, z
};

// Pixel `index` of images of `extents`. With Pool > 1 those of one pooling window, Pool in each
// direction that the kernel extends in, follow each other, so that a tile holds whole windows; what
// no window covers is left out.
template <uint Deep, uint High, uint Wide, uint Pool>
Pixel pixel_of(uint index, uint3 extents) {
  constexpr uint across = Pool;
  constexpr uint down = High > 1 ? Pool : 1;
  constexpr uint deep = Deep > 1 ? Pool : 1;
  const uint3 windows = extents / uint3(across, down, deep);
  const uint within = index % (across * down * deep);
  const uint window = index / (across * down * deep);
  const uint x = window % windows.x * across + within % across;
  const uint y = window / windows.x % windows.y * down + within / across % down;
  const uint z = window / windows.x / windows.y % windows.z * deep + within / across / down;
  return {window / windows.x / windows.y / windows.z, int3(int(x), int(y), int(z))};
}

// How many pixels there are in that order.
template <uint Deep, uint High, uint Wide, uint Pool>
uint pixel_count(uint batch, uint3 extents) {
  const uint3 window = uint3(Pool, High > 1 ? Pool : 1, Deep > 1 ? Pool : 1);
  const uint3 covered = extents / window * window;
  return batch * covered.x * covered.y * covered.z;
}

// The patches of a convolution of stride 1. Same pads with zeros so that the output is as large as
// the input, without it there is no padding.
template <typename T, typename As, uint Deep, uint High, uint Wide, bool Same = false,
          uint Pool = 1>
struct Patches {
  using element = As;
  struct Line {
    device const T* origin;  // below the first tap; null past the last pixel
    int3 at;
  };
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr uint kTaps = Deep * High * Wide;
  device const T* data;
  Volume volume;

  uint depth() const { return kTaps * volume.channels; }

  uint3 extents() const {
    const uint3 input = uint3(volume.width, volume.height, volume.depth);
    return Same ? input : input + 1 - uint3(Wide, High, Deep);
  }

  uint rows() const { return pixel_count<Deep, High, Wide, Pool>(volume.batch, extents()); }

  INLINED Line line(uint row) const {
    if (row >= rows()) {
      return {nullptr, int3(0)};
    }
    const Pixel pixel = pixel_of<Deep, High, Wide, Pool>(row, extents());
    const int3 padding = Same ? int3(Wide / 2, High / 2, Deep / 2) : int3(0);
    const int3 at = pixel.at - padding;
    return {data + (long(pixel.image * volume.depth) * volume.height * volume.width + pixels(at)) *
                       long(volume.pitch),
            at};
  }

  INLINED Quad<As> quad(thread const Line& from, uint k) const {
    Quad<As> v = As(0);
    if (!from.origin || k >= depth()) {
      return v;
    }
    if ((volume.channels | volume.pitch) % 4 == 0) {
      const int3 tap = tap_of(k / volume.channels);
      if (inside(from.at + tap)) {
        v = Quad<As>(quad_at(from.origin + offset(tap, k), 0));
      }
      return v;
    }
    for (uint i = 0; i < min(4u, depth() - k); ++i) {
      const int3 tap = tap_of((k + i) / volume.channels);
      if (inside(from.at + tap)) {
        v[i] = As(from.origin[offset(tap, k + i)]);
      }
    }
    return v;
  }

  INLINED static int3 tap_of(uint tap) {
    return int3(int(tap % Wide), int(tap / Wide % High), int(tap / (Wide * High)));
  }

  // Pixels from the image's first to the one at `at`.
  long pixels(int3 at) const { return (long(at.z) * volume.height + at.y) * volume.width + at.x; }

  INLINED uint offset(int3 tap, uint k) const {
    return uint((tap.z * int(volume.height) + tap.y) * int(volume.width) + tap.x) * volume.pitch +
           k % volume.channels;
  }

  bool inside(int3 at) const {
    return !Same ||
           (uint(at.x) < volume.width && uint(at.y) < volume.height && uint(at.z) < volume.depth);
  }
};

}  // namespace metalbench
