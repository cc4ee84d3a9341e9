// Rotary embedding of the first `turned` columns of a head alone, halves of these against each
// other; the rest passes through. Threads beyond the pairs move four columns of the rest each, so
// that one dispatch does both.
// dispatch: rope_partial  threads_in_grid=(ceil_div(turned / 2, 4) + ceil_div(dims - turned, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_partial(device const DTYPE* x, device DTYPE* y, constant uint& heads,
                             constant uint& tokens, constant uint& dims, constant uint& turned,
                             constant float& base, constant int& offset,
                             uint3 place [[thread_position_in_grid]]) {
  const uint half_dims = turned / 2;
  const uint quads = (half_dims + 3) / 4;
  const HeadRows rows = heads_outside(place.y, tokens, heads, dims);
  if (place.x < quads) {
    const PlainFrequencies frequencies = {turned, base};
    const Turn turn = Turn::of(frequencies, 4 * place.x, place.y + uint(offset));
    turn_heads<HEADS>(turn, x, y, rows, half_dims, place);
    return;
  }
  const uint column = turned + 4 * (place.x - quads);
  const uint end = min(heads, (place.z + 1) * HEADS);
  for (uint head = place.z * HEADS; head < end; ++head) {
    const ulong at = rows.first + head * rows.step;
    store_quad(y + at, column, dims, load_quad(x + at, column, dims));
  }
}
