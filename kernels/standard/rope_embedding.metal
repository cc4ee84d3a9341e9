// Rotary embedding: columns (2i, 2i+1) of row p are turned by the angle p base^(-2i/dims).
// A thread turns one pair in ROWS rows, so the frequency is computed once for all of them. It is
// computed to about one rounding, because a row number in the thousands multiplies its error; and
// the rounding of its product with p is added back through the derivatives of sine and cosine.
// dispatch: rope_embedding  threads_in_grid=(dims / 2, ceil_div(positions, ROWS))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: ROWS = 4, 1, 8, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/rope.h"
using namespace metal;
using namespace metalbench;

using Pair = vec<DTYPE, 2>;

[[kernel]] void rope_embedding(device const DTYPE* x, device DTYPE* y, constant uint& positions,
                               constant uint& dims, constant float& base,
                               uint2 place [[thread_position_in_grid]]) {
  const uint column = 2 * place.x;
  const float frequency = rope_frequency(column, dims, base);
  const uint end = min(positions, (place.y + 1) * ROWS);
  for (uint position = place.y * ROWS; position < end; ++position) {
    const ulong at = ulong(position) * dims + column;
    const float2 point = float2(*(device const Pair*)(x + at));
    *(device Pair*)(y + at) = Pair(rope_turned(point, position, frequency));
  }
}
