// Matrix times vector, weights of 2 to 8 bits with a scale and a bias a group, by packs of 32 codes
// (metalbench/quantised_matvec.h). STAGED is whether threadgroups keep the vector in their memory,
// HALVES whether codes become halves, two at a time, or floats.
// dispatch: qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q4_g32 BITS = 4, GROUP = 32
// instance: q4_g128 BITS = 4, GROUP = 128
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// instance: q8_g32 BITS = 8, GROUP = 32
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 1, 2, 8
// tune: AHEAD = 1, 2, 4
// tune: STAGED = 0, 1
// tune: HALVES = 1, 0
// defaults: cpu HALVES = 0
// defaults: cuda HALVES = 0
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0
#include "metalbench/quantised_matvec.h"
using namespace metalbench;

[[kernel]] void qmv(device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
                    device const DTYPE* w_biases, device DTYPE* y, constant uint& rows,
                    constant uint& cols, uint group [[threadgroup_position_in_grid]],
                    PLACE_ARGUMENTS) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
#if STAGED
  threadgroup float4 quads[TileOfVector::kQuads];
  staged_matvec<ROWS, AHEAD, TG>(weights, x, y, rows, first, quads, PLACE);
#else
  quantised_matvec<ROWS, AHEAD>(weights, PlainVector<DTYPE>{x}, y, rows, first, lane);
#endif
}
