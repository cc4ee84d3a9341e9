// Gradient of rotary positions whose points are columns half a head apart: a rotation's gradient is
// the rotation by the negative angle, so that the forward kernel's code serves with the other sign
// of the sine (rope_halves.h). A thread turns four points of HEADS heads.
// dispatch: rope_half_gradient  threads_in_grid=(ceil_div(dims, 8), tokens, ceil_div(heads, HEADS))  threads=(16, TG / 16, 1)
// tune: TG = 128, 32, 64, 256
// tune: HEADS = 8, 1, 4, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope_halves.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_half_gradient(device const DTYPE* dy, device DTYPE* dx, constant uint& heads,
                                   constant uint& tokens, constant uint& dims,
                                   constant float& base, constant uint& offset,
                                   uint3 at [[thread_position_in_grid]]) {
  if (4 * at.x < dims / 2) {
    const Turn turn = Turn::of(PlainFrequencies{dims, base}, 4 * at.x, offset + at.y);
    turn_heads<HEADS>({-turn.sine, turn.cosine}, dy, dx,
                      heads_outside(at.y, tokens, heads, dims), dims / 2, at);
  }
}
