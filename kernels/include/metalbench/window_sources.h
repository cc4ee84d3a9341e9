// What a convolution as a matrix product is multiplied from, as sources of tiles.h: patches of an
// image and filters, each quad found where it lies. `Steps` is a Forward or a Backward of
// windows.h.
#pragma once
#include "metalbench/convolution.h"
#include "metalbench/quads.h"
#include "metalbench/tile_sources.h"
#include "metalbench/windows.h"

namespace metalbench {

// Patches of the pixels of one phase. With Pool > 1 a tile holds whole windows of a pool, Pool in
// each direction that the kernel extends in: they follow each other as those of pixel_of. Of
// several phases each has one pixel of a window, as many as there are strides: there a row is that
// pixel, and Pool the stride.
template <typename T, typename Steps, uint Pool = 1>
struct Windows {
  using element = T;
  struct Line {
    device const T* origin;  // where the first tap lies or would lie; null past the last pixel
    int3 at;
  };
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr uint kInRow = Steps::kPhases == 1 ? Pool : 1;
  device const T* data;
  Volume volume;
  Steps steps;

  uint3 input() const { return uint3(volume.width, volume.height, volume.depth); }
  uint depth() const {
    const uint3 taps = steps.taps();
    return taps.x * taps.y * taps.z * volume.channels;
  }
  uint3 own() const { return Pool > kInRow ? steps.blocks(input()) : steps.own(input()); }
  uint rows() const {
    return pixel_count<Steps::kDeep, Steps::kHigh, Steps::kWide, kInRow>(volume.batch, own());
  }

  Pixel pixel(uint row) const {
    return pixel_of<Steps::kDeep, Steps::kHigh, Steps::kWide, kInRow>(row, own());
  }

  INLINED Line line(uint row) const {
    if (row >= rows()) {
      return {nullptr, int3(0)};
    }
    const Pixel output = pixel(row);
    const int3 at = steps.first(uint3(output.at));
    const long image = long(output.image) * volume.depth * volume.height * volume.width;
    const long inside = (long(at.z) * volume.height + at.y) * volume.width + at.x;
    return {data + (image + inside) * long(volume.pitch), at};
  }

  INLINED TapStep step(uint k) const {
    const uint3 n = steps.taps();
    return TapStep::of(k, Divisor::of(volume.channels), Divisor::of(n.x), Divisor::of(n.y));
  }

  static constant constexpr bool kHasAdjacent = true;
  INLINED bool whole(uint first, uint extent, uint step) const {
    return first + extent <= rows() && (volume.channels | volume.pitch) % 8 == 0 &&
           depth() % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<T>* to, thread const Line& from, uint k) const {
    const TapStep at = step(k);
    const int3 move = move_of(at);
    load_adjacent_if<Count>(inside(from.at + move), to, from.origin + offset(move, at.channel));
  }

  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    if (!from.origin || k >= depth()) {
      return Quad<T>(T(0));
    }
    if ((volume.channels | volume.pitch) % 4 == 0) {
      const TapStep at = step(k);
      const int3 move = move_of(at);
      return inside(from.at + move)
                 ? *(device const Quad<T>*)(from.origin + offset(move, at.channel))
                 : Quad<T>(T(0));
    }
    if (Steps::kNeighbours && volume.pitch == volume.channels) {
      const TapStep at = step(k);
      const int3 move = move_of(at);
      const int3 end = move_of(step(k + 3));
      if (k + 3 < depth() && all(move.yz == end.yz) && inside(from.at + move) &&
          inside(from.at + end)) {
        return Quad<T>(load_quad<false, true>(from.origin + offset(move, at.channel), 0, 4));
      }
    }
    T v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const TapStep at = step(k + i);
      const int3 move = move_of(at);
      const bool is_there = k + i < depth() && inside(from.at + move);
      v[i] = is_there ? from.origin[offset(move, at.channel)] : T(0);
    }
    return Quad<T>(v[0], v[1], v[2], v[3]);
  }

  // From the first tap to that of a step.
  INLINED int3 move_of(thread const TapStep& step) const { return int3(step.tap) * steps.step(); }

  INLINED int offset(int3 move, uint channel) const {
    return ((move.z * int(volume.height) + move.y) * int(volume.width) + move.x) *
               int(volume.pitch) +
           int(channel);
  }

  INLINED bool inside(int3 at) const {
    return Steps::kInside ||
           (uint(at.x) < volume.width && uint(at.y) < volume.height && uint(at.z) < volume.depth);
  }

  // Which pixel of the whole output has the sums of row `row`.
  ulong output_row(uint row) const {
    if (Steps::kPhases == 1 && Pool == 1) {
      return row;
    }
    const Pixel own = pixel(row);
    const uint3 whole = steps.whole(input());
    const ulong3 at = ulong3(steps.output(uint3(own.at)));
    return ((own.image * ulong(whole.z) + at.z) * whole.y + at.y) * whole.x + at.x;
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
  uint channels;
  uint pitch;
  uint depth;
  Steps steps;

  INLINED Line line(uint filter) const {
    return filter < filters ? data + ulong(filter) * pitch : nullptr;
  }

  INLINED TapStep step(uint k) const {
    const uint3 n = steps.taps();
    return TapStep::of(k, Divisor::of(channels), Divisor::of(n.x), Divisor::of(n.y));
  }

  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    if (!from || k >= depth) {
      return Quad<T>(T(0));
    }
    if (Steps::kPhases == 1) {
      return depth % 4 == 0 ? *(device const Quad<T>*)(from + k)
                            : Quad<T>(load_quad(from, k, depth));
    }
    if (channels % 4 == 0) {
      return *(device const Quad<T>*)(from + offset(k));
    }
    T v[4];
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = k + i < depth ? from[offset(k + i)] : T(0);
    }
    return Quad<T>(v[0], v[1], v[2], v[3]);
  }

  INLINED uint offset(uint k) const {
    const TapStep at = step(k);
    return steps.filter_tap(at.tap) * channels + at.channel;
  }
};

}  // namespace metalbench
