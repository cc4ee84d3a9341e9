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

[[kernel]] void place(device uint* cache, device DTYPE* cache_scales, device DTYPE* cache_biases,
                      device const DTYPE* fresh, device const uint* position, constant uint& heads,
                      constant uint& length, constant uint& tokens, constant uint& dims,
                      uint thread_index [[thread_position_in_grid]]) {
  append_rows<BITS, 64>(QuantisedParts<DTYPE>{cache, cache_scales, cache_biases}, fresh, position,
                        heads, length, tokens, dims, thread_index);
}
