// Rows of a table of weights of 4 or 6 bits by index: row token[r] of the table becomes row r of the
// result. A thread unpacks four neighbouring codes and writes them as one vector; all threads of a
// row read the same index, a broadcast, and share its scales from the cache.
// dispatch: quantized_embedding  threads_in_grid=(cols / 4, tokens)  threads=(TG, 1)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0, vocabulary * cols / 4 <= 4294967295
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void quantized_embedding(device const uint* token, device const uint* w,
                                    device const DTYPE* w_scales, device const DTYPE* w_biases,
                                    device DTYPE* y, constant uint& cols,
                                    uint2 place [[thread_position_in_grid]]) {
  const Weights<WholeNumbers<DTYPE, BITS, GROUP>> table = {w, {w_scales, w_biases}, cols};
  put_quad(y + ulong(place.y) * cols, place.x, table.quad(token[place.y], place.x));
}
