// Weights of 2 to 8 bits as floats: a thread unpacks four neighbouring codes and writes them as one
// vector, so that lanes write whole cache lines. A group's scale and bias are read by all threads
// that share them, from the cache.
// dispatch: dequantize  threads_in_grid=(cols / 4, rows)  threads=(TG, 1)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0, rows * cols / 4 <= 4294967295
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void dequantize(device const uint* w, device const DTYPE* w_scales,
                           device const DTYPE* w_biases, device DTYPE* y, constant uint& cols,
                           uint2 place [[thread_position_in_grid]]) {
  const Weights<WholeNumbers<DTYPE, BITS, GROUP>> weights = {w, {w_scales, w_biases}, cols};
  put_quad(y, place.y * (cols / 4) + place.x, weights.quad(place.y, place.x));
}
