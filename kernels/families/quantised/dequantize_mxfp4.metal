// Weights of small floats, mxfp4, mxfp8 or nvfp4, as elements: a thread unpacks four neighbouring
// codes and writes them as one vector. Codes become floats by their bits, a group's scale is read by
// the threads that share it, and each row has a factor, as where a norm's weight is folded in.
// dispatch: dequantize  threads_in_grid=(cols / 4, rows)  threads=(TG, 1)
// instance: mxfp4 BITS = 4, GROUP = 32
// instance: mxfp8 BITS = 8, GROUP = 32
// instance: nvfp4 BITS = 4, GROUP = 16
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % 32 == 0, rows * cols / 4 <= 4294967295
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void dequantize(device const DTYPE* row, device const uint* w,
                           device const uchar* w_scales, device DTYPE* y, constant uint& cols,
                           uint2 place [[thread_position_in_grid]]) {
  using Format = SmallFloats<BITS, GROUP>;
  const Weights<Format> weights = {w, {w_scales}, cols};
  put_quad(y, place.y * (cols / 4) + place.x, weights.quad(place.y, place.x) * float(row[place.y]));
}
