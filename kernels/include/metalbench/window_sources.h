// What a convolution as a matrix product is multiplied from, as sources of tiles.h: patches of an
// input, channels last, and filters, each quad found where it lies. Rows of A are output pixels,
// columns of A and of the filters are taps times channels. `Steps` is a Forward or a Backward of
// windows.h. One source serves one, two and three dimensions. Inputs have less than 2^31 pixels.
#pragma once
#include "metalbench/divisor.h"
#include "metalbench/quads.h"
#include "metalbench/tile_sources.h"
#include "metalbench/windows.h"

namespace metalbench {

// An input; pixels begin `pitch` elements apart, which is `channels` unless it is part of a wider
// one. Extents are 1 where there is no such direction.
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
  uint3 at;  // x, y, z
};

// The order of the output's pixels. With Pool > 1 those of one pooling window, Pool in each
// direction that the kernel extends in, follow each other, so that a tile holds whole windows; what
// no window covers is left out.
template <typename Steps, uint Pool>
struct PixelOrder {
  static constant constexpr uint kAcross = Pool;
  static constant constexpr uint kDown = Steps::kHigh > 1 ? Pool : 1;
  static constant constexpr uint kDeep = Steps::kDeep > 1 ? Pool : 1;
  static constant constexpr uint kWindow = kAcross * kDown * kDeep;
  // Windows of an image in each direction.
  Divisor x;
  Divisor y;
  Divisor z;

  INLINED static PixelOrder of(uint3 extents) {
    return {Divisor::of(extents.x / kAcross), Divisor::of(extents.y / kDown),
            Divisor::of(extents.z / kDeep)};
  }

  INLINED uint count(uint batch) const { return batch * x.value * y.value * z.value * kWindow; }

  // The window that has pixel `index`, and the pixel's place in it. Images of fewer dimensions have
  // no more quotients than dimensions: planes, or lines, of all images are one image then.
  INLINED Pixel pixel(uint index) const {
    const uint within = index % kWindow;
    const uint window = index / kWindow;
    const uint line = x.quotient(window);
    const uint plane = Steps::kDimensions > 1 ? y.quotient(line) : line;
    const uint image = Steps::kDimensions > 2 ? z.quotient(plane) : plane;
    const uint3 corner =
        uint3(window - line * x.value, line - plane * y.value, plane - image * z.value);
    return {image, corner * uint3(kAcross, kDown, kDeep) +
                       uint3(within % kAcross, within / kAcross % kDown, within / kAcross / kDown)};
  }
};

// A position in the depth of patches and filters: a channel of a tap.
struct TapStep {
  uint3 tap;  // x, y, z
  uint channel;
};

// The order of the positions: all channels of a tap, then the next tap.
template <typename Steps>
struct TapOrder {
  Steps steps;
  Divisor channels;

  INLINED uint depth() const {
    const uint3 taps = steps.taps();
    return taps.x * taps.y * taps.z * channels.value;
  }

  INLINED TapStep step(uint k) const {
    const uint tap = channels.quotient(k);
    return {steps.tap(tap), k - tap * channels.value};
  }

  INLINED TapStep after(TapStep at) const {
    const uint3 taps = steps.taps();
    const bool is_tap = ++at.channel == channels.value;
    at.channel = is_tap ? 0 : at.channel;
    at.tap.x += uint(is_tap);
    const bool is_line = at.tap.x == taps.x;
    at.tap.x = is_line ? 0 : at.tap.x;
    at.tap.y += uint(is_line);
    const bool is_plane = at.tap.y == taps.y;
    at.tap.y = is_plane ? 0 : at.tap.y;
    at.tap.z += uint(is_plane);
    return at;
  }
};

// Patches of the pixels of one phase. With Pool > 1 a tile holds whole windows of a pool, as
// PixelOrder says. Of several phases each has one pixel of a window, as many as there are strides:
// there a row is that pixel, and Pool the stride.
template <typename T, typename Steps, uint Pool = 1, typename As = T>
struct Windows {
  using element = As;
  struct Line {
    device const T* origin;  // where the first tap lies or would lie
    int3 at;
  };
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr uint kInRow = Steps::kPhases == 1 ? Pool : 1;
  device const T* data;
  Volume volume;
  TapOrder<Steps> taps;
  PixelOrder<Steps, kInRow> pixels;

  Windows() = default;
  INLINED Windows(device const T* data, Volume input, Steps steps = Steps::of(0))
      : data(data), volume(input) {
    if (Steps::kDimensions < 3) {
      volume.batch *= volume.depth;
      volume.depth = 1;
    }
    if (Steps::kDimensions < 2) {
      volume.batch *= volume.height;
      volume.height = 1;
    }
    taps = {steps, Divisor::of(volume.channels)};
    pixels = PixelOrder<Steps, kInRow>::of(Pool > kInRow ? steps.blocks(extents())
                                                         : steps.own(extents()));
  }

  INLINED uint3 extents() const { return uint3(volume.width, volume.height, volume.depth); }
  // The extents of the whole output, of all phases.
  INLINED uint3 outputs() const { return taps.steps.whole(extents()); }
  INLINED uint depth() const { return taps.depth(); }
  INLINED uint rows() const { return pixels.count(volume.batch); }

  // Rows past the last are as the first, so that all lines have elements to load.
  INLINED Line line(uint row) const {
    const Pixel output = pixels.pixel(row < rows() ? row : 0);
    const int3 at = taps.steps.first(output.at);
    return {data + long(offset_of(int3(0, 0, int(output.image * volume.depth)) + at)) *
                       long(int(volume.pitch)),
            at};
  }

  static constant constexpr bool kHasAdjacent = true;
  INLINED bool whole(uint, uint, uint step) const {
    return (volume.channels | volume.pitch) % 8 == 0 && depth() % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& from, uint k, uint within) const {
    const TapStep at = taps.step(k + within);
    const int3 move = move_of(at);
    load_adjacent_if<Count>(inside(from.at + move), to, from.origin + offset(move, at.channel));
  }

  INLINED Quad<As> quad(thread const Line& from, uint k) const {
    TapStep at = taps.step(k);
    if ((volume.channels | volume.pitch) % 4 == 0) {
      const int3 move = move_of(at);
      const bool is_there = k < depth() && inside(from.at + move);
      return is_there ? Quad<As>(quad_at(from.origin + offset(move, at.channel), 0))
                      : Quad<As>(As(0));
    }
    As v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const int3 move = move_of(at);
      const bool is_there = k + i < depth() && inside(from.at + move);
      v[i] = is_there ? As(from.origin[offset(move, at.channel)]) : As(0);
      at = taps.after(at);
    }
    return Quad<As>(v[0], v[1], v[2], v[3]);
  }

  // From the first tap to that of a step.
  INLINED int3 move_of(TapStep step) const { return int3(step.tap) * taps.steps.step(); }

  // Pixels from the first of the image to the one at `at`, which may lie outside.
  INLINED int offset_of(int3 at) const {
    return (at.z * int(volume.height) + at.y) * int(volume.width) + at.x;
  }
  INLINED int offset(int3 move, uint channel) const {
    return offset_of(move) * int(volume.pitch) + int(channel);
  }

  INLINED bool inside(int3 at) const {
    const bool is_inside =
        bool(uint(at.x) < volume.width & uint(at.y) < volume.height & uint(at.z) < volume.depth);
    return Steps::kInside || is_inside;
  }

  // Which pixel of the whole output has the sums of row `row`.
  INLINED uint output_row(uint row) const {
    if (Steps::kPhases == 1 && Pool == 1) {
      return row;
    }
    const Pixel pixel = pixels.pixel(row);
    const uint3 whole = outputs();
    const uint3 at = taps.steps.output(pixel.at);
    return ((pixel.image * whole.z + at.z) * whole.y + at.y) * whole.x + at.x;
  }
};

// The taps of the filters that one phase takes; `pitch` elements a filter.
template <typename T, typename Steps>
struct WindowFilters {
  using element = T;
  using Line = device const T*;
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  uint filters;
  uint pitch;
  TapOrder<Steps> taps;

  INLINED Line line(uint filter) const {
    return filter < filters ? data + ulong(filter) * pitch : nullptr;
  }

  static constant constexpr bool kHasAdjacent = true;
  INLINED bool whole(uint first, uint extent, uint step) const {
    return first + extent <= filters && (Steps::kPhases == 1 || taps.channels.value % 8 == 0) &&
           pitch % 8 == 0 && taps.depth() % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<T>* to, thread const Line& from, uint k, uint within) const {
    load_adjacent<Count>(to, from + offset(taps.step(k + within), k + within));
  }

  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    const uint depth = taps.depth();
    if (!from || k >= depth) {
      return Quad<T>(T(0));
    }
    if (Steps::kPhases == 1) {
      return depth % 4 == 0 ? *(device const Quad<T>*)(from + k)
                            : Quad<T>(load_quad(from, k, depth));
    }
    TapStep at = taps.step(k);
    if (taps.channels.value % 4 == 0) {
      return *(device const Quad<T>*)(from + offset(at, k));
    }
    T v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = k + i < depth ? from[offset(at, k + i)] : T(0);
      at = taps.after(at);
    }
    return Quad<T>(v[0], v[1], v[2], v[3]);
  }

  // Where element `k` of the phase's depth lies in a filter; `at` is the same position.
  INLINED uint offset(TapStep at, uint k) const {
    return Steps::kPhases == 1 ? k
                               : taps.steps.filter_tap(at.tap) * taps.channels.value + at.channel;
  }
};

}  // namespace metalbench
