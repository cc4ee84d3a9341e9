// Rows of some dozen elements, such as the channels of a pixel: Lanes neighbouring lanes have one,
// in quads, so that a SIMD-group reads 32 / Lanes of them as one piece. What is joined is of
// row_shares.h, and a `Source` gives the quad of a column, as a Row (rows.h), or what is made of
// it. Needs
//   threads_in_grid=(LANES * rows)  threads=(128)
#pragma once
#include "metalbench/row_shares.h"

namespace metalbench {

// Which of its row's lanes a thread is (x), and the row (y). It follows from the place in the
// SIMD-group: which threads of a threadgroup of two dimensions are in one SIMD-group is not
// specified.
template <uint Lanes>
inline uint2 lane_of_row(uint group, Place place) {
  const uint own = place.simdgroup * (32 / Lanes) + place.lane / Lanes;
  return uint2(place.lane % Lanes, group * (128 / Lanes) + own);
}

template <typename Join, uint Lanes, typename Source>
inline typename Join::State join_channels(Source source, uint channels, uint lane) {
  typename Join::State state = Join::of(float4(0.0f), 0);
  for (uint column = 4 * lane; column < channels; column += 4 * Lanes) {
    state = Join::join(state, Join::of(source(column), min(4u, channels - column)));
  }
  return join_lanes<Join, Lanes>(state);
}

// The quads of a row's softmax.
template <typename Source>
struct SoftmaxOf {
  Source source;
  float2 state;  // of RowExpSum
  float4 operator()(uint column) const { return exp(source(column) - state.x) / state.y; }
};

template <uint Lanes, typename Source>
inline SoftmaxOf<Source> softmax_of(Source source, uint channels, uint lane) {
  return {source, join_channels<RowExpSum, Lanes>(source, channels, lane)};
}

}  // namespace metalbench
