// Dropout that draws its own mask: y = x / (1 - p) with probability 1 - p, else 0. Random bits
// come from Philox, a function of a counter and a key: thread i takes counter i, whose four words
// decide on its four elements. So the mask depends on neither order nor geometry, is never
// stored, and the backward pass can draw it again. Words are compared as integers with p 2^32: no
// rounding anywhere.
// dispatch: dropout_philox  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/philox.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void dropout_philox(
    device const DTYPE* x, device const uint* key, device DTYPE* y, constant uint& rows,
    constant uint& cols, constant float& p, uint i [[thread_position_in_grid]]) {
  const uint4 bits = philox(uint4(i, 0, 0, 0), uint2(key[0], key[1]));
  const bool4 dropped = bits < uint4(uint(p * 4294967296.0f));
  const float scale = 1.0f / (1.0f - p);
  const uint count = rows * cols;
  const float4 kept = select(scale * load_quad(x, 4 * i, count), float4(0.0f), dropped);
  store_quad(y, 4 * i, count, kept);
}
