// Convolutions as matrix products without a matrix of patches: sources (tiles.h) that find the
// element of a patch where it lies in the input, channels last. Rows of A are output pixels,
// columns of A and of the filters (filters, taps, channels) are taps times channels. One source
// serves one, two and three dimensions: extents of kernel and input are 1 where there is none, and
// the compiler drops what is divided by 1.
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

// A transposed convolution adds w[k] x[i] to y[Stride i + k]. Outputs of one *phase*, the remainder
// of their coordinates by Stride, take the same taps, every Stride-th from `phase` on: each phase
// is a convolution of its own that no zero is multiplied in.
template <uint Deep, uint High, uint Wide, uint Stride>
struct Phase {
  uint3 first;

  // Of the z-th of all phases; there is a direction only where the kernel extends in it.
  static Phase of(uint z) {
    return {
        uint3(z % Stride, High > 1 ? z / Stride % Stride : 0, Deep > 1 ? z / Stride / Stride : 0)};
  }

  uint3 taps() const { return (uint3(Wide, High, Deep) - first + (Stride - 1)) / Stride; }
  uint tap_count() const { return taps().x * taps().y * taps().z; }

  // Of the whole output, and of the part that has this phase.
  static uint3 extents(Volume input) {
    return (uint3(input.width, input.height, input.depth) - 1) * Stride + uint3(Wide, High, Deep);
  }
  uint3 own_extents(Volume input) const { return (extents(input) - first + (Stride - 1)) / Stride; }

  int3 tap_of(uint tap) const {
    const uint3 n = taps();
    return int3(int(tap % n.x), int(tap / n.x % n.y), int(tap / n.x / n.y));
  }
};

// The patches of one phase of a transposed convolution.
template <typename T, uint Deep, uint High, uint Wide, uint Stride, uint Pool = 1>
struct TransposedPatches {
  using element = T;
  struct Line {
    device const T* image;  // null past the last pixel
    int3 at;
  };
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  Volume volume;
  Phase<Deep, High, Wide, Stride> phase;

  uint depth() const { return phase.tap_count() * volume.channels; }
  uint3 extents() const { return phase.own_extents(volume); }
  uint rows() const { return pixel_count<Deep, High, Wide, Pool>(volume.batch, extents()); }

  INLINED Line line(uint row) const {
    if (row >= rows()) {
      return {nullptr, int3(0)};
    }
    const Pixel pixel = pixel_of<Deep, High, Wide, Pool>(row, extents());
    const ulong pixels = ulong(volume.depth) * volume.height * volume.width;
    return {data + pixel.image * pixels * volume.channels, pixel.at};
  }

  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    Quad<T> v = T(0);
    if (!from.image || k >= depth()) {
      return v;
    }
    if (volume.channels % 4 == 0) {
      const int3 at = from.at - phase.tap_of(k / volume.channels);
      if (inside(at)) {
        v = *(device const Quad<T>*)(from.image + offset(at, k));
      }
      return v;
    }
    for (uint i = 0; i < min(4u, depth() - k); ++i) {
      const int3 at = from.at - phase.tap_of((k + i) / volume.channels);
      if (inside(at)) {
        v[i] = from.image[offset(at, k + i)];
      }
    }
    return v;
  }

  bool inside(int3 at) const {
    return uint(at.x) < volume.width && uint(at.y) < volume.height && uint(at.z) < volume.depth;
  }

  INLINED uint offset(int3 at, uint k) const {
    return uint((at.z * int(volume.height) + at.y) * int(volume.width) + at.x) * volume.channels +
           k % volume.channels;
  }

  // Which row of the output, one pixel each, has the sums of row `row`.
  ulong output_row(uint row) const {
    const Pixel pixel = pixel_of<Deep, High, Wide, Pool>(row, extents());
    const uint3 whole = phase.extents(volume);
    const ulong3 at = ulong3(uint3(pixel.at) * Stride + phase.first);
    return ((pixel.image * ulong(whole.z) + at.z) * whole.y + at.y) * whole.x + at.x;
  }
};

// The taps of the filters (filters, taps, channels) that one phase takes.
template <typename T, uint Deep, uint High, uint Wide, uint Stride>
struct TransposedFilters {
  using element = T;
  using Line = device const T*;
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  uint filters;
  uint channels;
  Phase<Deep, High, Wide, Stride> phase;

  INLINED Line line(uint filter) const {
    return filter < filters ? data + ulong(filter) * (Deep * High * Wide) * channels : nullptr;
  }

  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    Quad<T> v = T(0);
    const uint depth = phase.tap_count() * channels;
    if (!from || k >= depth) {
      return v;
    }
    if (channels % 4 == 0) {
      return *(device const Quad<T>*)(from + offset(k));
    }
    for (uint i = 0; i < min(4u, depth - k); ++i) {
      v[i] = from[offset(k + i)];
    }
    return v;
  }

  INLINED uint offset(uint k) const {
    const uint3 tap = uint3(phase.tap_of(k / channels)) * Stride + phase.first;
    return ((tap.z * High + tap.y) * Wide + tap.x) * channels + k % channels;
  }
};

// Writes map(sums) of one phase to the pixels of the whole output that have it.
template <typename T, typename Patches, typename Map = AsItIs>
struct StorePhase {
  device T* to;
  Patches patches;
  uint cols;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < patches.rows() && column < cols) {
      store_quad(to + patches.output_row(row) * cols, column, cols, map(*sums, row, column));
    }
  }
};

}  // namespace metalbench
