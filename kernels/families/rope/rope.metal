// Rotary embedding of heads in the layout of today's models: columns i and i + dims/2 of token t
// turn by the angle (t + offset) base^(-2i/dims). Sines and cosines, which cost more than all else,
// are computed once for HEADS heads.
// dispatch: rope  threads_in_grid=(ceil_div(dims / 2, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope(device const DTYPE* x, device DTYPE* y, constant uint& heads,
                     constant uint& tokens, constant uint& dims, constant float& base,
                     constant int& offset, uint3 place [[thread_position_in_grid]]) {
  const auto frequencies = PlainFrequencies{dims, base};
  const Turn turn = Turn::of(frequencies, 4 * place.x, place.y + uint(offset));
  turn_heads<HEADS>(turn, x, y, heads_outside(place.y, tokens, heads, dims), dims / 2, place);
}
