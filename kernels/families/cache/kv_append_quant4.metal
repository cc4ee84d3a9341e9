// New rows into a cache of 4 or 8 bits, in place: rows become codes with a scale and a bias for each
// group of 64, as MLX chooses them, and go where their positions say. Sixteen lanes share a group:
// each has four elements, whose least and greatest join through shuffles, and makes one word of
// codes, or half a word that joins its neighbour's. Other rows are not touched.
// inout: cache, cache_scales, cache_biases
// dispatch: place  threads_in_grid=(ceil_div(tokens * heads * dims, 128) * 32)  threads=(TG)
// instance: q4 BITS = 4
// instance: q8 BITS = 8
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: dims % 64 == 0
#include "metalbench/quantise.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint kGroup = 64;

[[kernel]] void place(device uint* cache, device DTYPE* cache_scales, device DTYPE* cache_biases,
                      device const DTYPE* fresh, device const uint* position, constant uint& heads,
                      constant uint& length, constant uint& tokens, constant uint& dims,
                      uint thread_index [[thread_position_in_grid]]) {
  // Lanes past the end repeat the last quad, as others' shuffles want a whole SIMD-group.
  const uint quads = tokens * heads * dims / 4;
  const uint quad = min(thread_index, quads - 1);
  const float4 v = quad_at(fresh, quad);
  const Scaling by = scaling_of_group<kGroup, BITS>(v);
  const uint bits = codes_of<BITS>(v, by);
  const uint other = simd_shuffle_xor(bits, ushort(1));
  if (thread_index >= quads) {
    return;
  }
  const uint row = quad / (dims / 4), column = quad % (dims / 4);
  const ulong to = ulong(row % heads) * length + position[row / heads];
  const ulong at = to * (dims / 4) + column;  // in quads of the cache
  if (BITS == 8) {
    cache[at] = bits;
  } else if (column % 2 == 0) {
    cache[at / 2] = bits | other << 16;
  }
  if (column % (kGroup / 4) == 0) {
    cache_scales[at / (kGroup / 4)] = DTYPE(by.scale);
    cache_biases[at / (kGroup / 4)] = DTYPE(by.bias);
  }
}
