// Gradients of convolutions as matrix products without a matrix of patches, from the sources of
// window_sources.h and two more: filters read along channels, and patches along pixels.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
#include "metalbench/window_sources.h"

namespace metalbench {

// Of the input's gradient: column c is channel c of the filters (filters, taps, channels), and the
// depth is taps times filters, in the order of `taps`, whose channels are the filters.
template <typename T, typename Steps>
struct ChannelsOfFilters {
  using element = T;
  using Line = uint;
  static constant constexpr bool kAlongDepth = false;
  device const T* data;
  uint channels;
  uint filter_taps;
  TapOrder<Steps> taps;

  INLINED Line line(uint channel) const { return channel; }

  INLINED Quad<T> quad(thread const Line& channel, uint k) const {
    if (k >= taps.depth() || channel >= channels) {
      return Quad<T>(T(0));
    }
    const TapStep at = taps.step(k);
    const uint row = at.channel * filter_taps + taps.steps.filter_tap(at.tap);
    device const T* from = data + ulong(row) * channels;
    return Quad<T>(channels % 4 == 0 ? quad_at(from + channel, 0)
                                     : load_quad(from, channel, channels));
  }
};

// Of the filters' gradient: column j is a tap and channel of an input's patches, and the depth is
// `count` pixels from `first` on.
template <typename Input>
struct PatchesDown {
  using element = typename Input::element;
  using Line = uint;
  static constant constexpr bool kAlongDepth = false;
  Input patches;
  uint first;
  uint count;

  INLINED Line line(uint column) const { return column; }

  INLINED Quad<element> quad(thread const Line& column, uint k) const {
    if (k >= count || column >= patches.depth()) {
      return Quad<element>(element(0));
    }
    return patches.quad(patches.line(first + k), column);
  }
};

}  // namespace metalbench
