// Rotary embedding of image patches by row and column: the first half of a head turns by the
// patch's row, the second by its column, each half in the layout of text models. A thread has four
// pairs of both halves, which have the same frequencies.
// dispatch: rope_2d  threads_in_grid=(ceil_div(dims / 4, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_2d(device const DTYPE* x, device const uint* position, device DTYPE* y,
                        constant uint& heads, constant uint& tokens, constant uint& dims,
                        constant float& base, uint3 place [[thread_position_in_grid]]) {
  const PlainFrequencies frequencies = {dims / 2, base};
  UNROLLED
  for (uint axis = 0; axis < 2; ++axis) {
    const Turn turn = Turn::of(frequencies, 4 * place.x, position[2 * place.y + axis]);
    const uint start = axis * (dims / 2);
    turn_heads<HEADS>(turn, x + start, y + start, heads_inside(place.y, heads, dims), dims / 4,
                      place);
  }
}
