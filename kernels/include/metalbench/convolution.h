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

// A position in the depth of patches and filters: a channel of a tap. Positions follow each other
// without a division.
struct TapStep {
  uint3 tap;  // x, y, z
  uint channel;

  INLINED static TapStep of(uint k, uint channels, uint3 taps) {
    const uint tap = k / channels;
    const uint line = tap / max(taps.x, 1u);
    return {uint3(tap - line * taps.x, line % max(taps.y, 1u), line / max(taps.y, 1u)),
            k - tap * channels};
  }

  INLINED void advance(uint by, uint channels, uint3 taps) {
    channel += by;
    if (by <= channels) {
      carry(channels, taps);
    } else {
      *this = of(((tap.z * taps.y + tap.y) * taps.x + tap.x) * channels + channel, channels, taps);
    }
  }

  // To the next tap, if the channel is past the last one. Without a branch.
  INLINED void carry(uint channels, uint3 taps) {
    const bool next = channel >= channels;
    channel -= next ? channels : 0;
    tap.x += next;
    const bool next_line = tap.x >= taps.x;
    tap.x = next_line ? 0 : tap.x;
    tap.y += next_line;
    const bool next_slice = tap.y >= taps.y;
    tap.y = next_slice ? 0 : tap.y;
    tap.z += next_slice;
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

  using Step = TapStep;
  INLINED static uint3 taps() { return uint3(Wide, High, Deep); }
  INLINED Step step(uint k) const { return TapStep::of(k, volume.channels, taps()); }
  INLINED void advance(thread Step& step, uint by) const {
    step.advance(by, volume.channels, taps());
  }

  INLINED Quad<As> quad(thread const Line& from, uint k, thread const Step& step) const {
    if (!from.origin || k >= depth()) {
      return Quad<As>(As(0));
    }
    if ((volume.channels | volume.pitch) % 4 == 0) {
      return inside(from.at + int3(step.tap)) ? Quad<As>(quad_at(from.origin + offset(step), 0))
                                              : Quad<As>(As(0));
    }
    Step at = step;
    As v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const bool is_there = k + i < depth() && inside(from.at + int3(at.tap));
      v[i] = is_there ? As(from.origin[offset(at)]) : As(0);
      advance(at, 1);
    }
    return Quad<As>(v[0], v[1], v[2], v[3]);
  }

  // Pixels from the image's first to the one at `at`.
  long pixels(int3 at) const { return (long(at.z) * volume.height + at.y) * volume.width + at.x; }

  INLINED uint offset(thread const Step& step) const {
    return ((step.tap.z * volume.height + step.tap.y) * volume.width + step.tap.x) * volume.pitch +
           step.channel;
  }

  bool inside(int3 at) const {
    return !Same ||
           (uint(at.x) < volume.width && uint(at.y) < volume.height && uint(at.z) < volume.depth);
  }
};

}  // namespace metalbench
