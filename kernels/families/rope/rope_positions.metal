// Rotary embedding of tokens that each have a separate position, as where requests of different
// lengths are decoded together: heads inside, (tokens, heads, dims), halves against each other. A
// thread has one token and so reads one position for all its heads.
// dispatch: rope_positions  threads_in_grid=(ceil_div(dims / 2, 4), tokens, ceil_div(heads, HEADS))  threads=(QUADS, 128 / QUADS, 1)
// tune: QUADS = 8, 4, 16, 32
// tune: HEADS = 4, 1, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_positions(device const DTYPE* x, device const uint* position, device DTYPE* y,
                               constant uint& heads, constant uint& tokens, constant uint& dims,
                               constant float& base, uint3 place [[thread_position_in_grid]]) {
  const auto frequencies = PlainFrequencies{dims, base};
  const Turn turn = Turn::of(frequencies, 4 * place.x, position[place.y]);
  turn_heads<HEADS>(turn, x, y, heads_inside(place.y, heads, dims), dims / 2, place);
}
