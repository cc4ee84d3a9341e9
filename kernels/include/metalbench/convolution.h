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
#include "metalbench/tile_sources.h"

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

// Quotients by a number that is not a constant. GPUs have no instruction for such a division; its
// inverse in float takes a few. Dividends are below 2^23: then the estimate is off by one at most.
struct Divisor {
  uint value;
  float inverse;

  INLINED static Divisor of(uint value) { return {value, 1.0f / float(max(value, 1u))}; }
  INLINED uint quotient(uint k) const {
    const uint estimate = uint(float(k) * inverse);
    const int rest = int(k - estimate * value);
    return estimate + uint(rest >= int(value)) - uint(rest < 0);
  }
};

// A position in the depth of patches and filters: a channel of a tap.
struct TapStep {
  uint3 tap;  // x, y, z
  uint channel;

  INLINED static TapStep of(uint k, Divisor channels, Divisor across, Divisor down) {
    const uint tap = channels.quotient(k);
    const uint line = across.quotient(tap);
    const uint slice = down.quotient(line);
    return {uint3(tap - line * across.value, line - slice * down.value, slice),
            k - tap * channels.value};
  }
};

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

  INLINED TapStep step(uint k) const {
    const uint tap = Divisor::of(volume.channels).quotient(k);
    return {uint3(tap % Wide, tap / Wide % High, tap / (Wide * High)), k - tap * volume.channels};
  }

  static constant constexpr bool kHasAdjacent = true;
  INLINED bool whole(uint first, uint extent, uint step) const {
    return first + extent <= rows() && (volume.channels | volume.pitch) % 8 == 0 &&
           depth() % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& from, uint k) const {
    const TapStep at = step(k);
    load_adjacent_if<Count>(inside(from.at + int3(at.tap)), to, from.origin + offset(at));
  }

  INLINED Quad<As> quad(thread const Line& from, uint k) const {
    if (!from.origin || k >= depth()) {
      return Quad<As>(As(0));
    }
    if ((volume.channels | volume.pitch) % 4 == 0) {
      const TapStep at = step(k);
      return inside(from.at + int3(at.tap)) ? Quad<As>(quad_at(from.origin + offset(at), 0))
                                            : Quad<As>(As(0));
    }
    As v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const TapStep at = step(k + i);
      const bool is_there = k + i < depth() && inside(from.at + int3(at.tap));
      v[i] = is_there ? As(from.origin[offset(at)]) : As(0);
    }
    return Quad<As>(v[0], v[1], v[2], v[3]);
  }

  // Pixels from the image's first to the one at `at`.
  long pixels(int3 at) const { return (long(at.z) * volume.height + at.y) * volume.width + at.x; }

  INLINED uint offset(thread const TapStep& step) const {
    return ((step.tap.z * volume.height + step.tap.y) * volume.width + step.tap.x) * volume.pitch +
           step.channel;
  }

  bool inside(int3 at) const {
    return !Same ||
           (uint(at.x) < volume.width && uint(at.y) < volume.height && uint(at.z) < volume.depth);
  }
};

}  // namespace metalbench
