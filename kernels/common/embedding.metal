// Rows of a table by index: row r of the result is row token[r] of the table. One thread moves
// four columns; all threads of a row read the same index, a broadcast. Lanes read neighbouring
// columns, so a row of 128 floats is four whole cache lines wherever it lies. Nothing is
// computed: the bits are those of the table.
// dispatch: embedding  threads_in_grid=(ceil_div(dims, 4), tokens)  threads=(QUADS, TOKENS)
// tune: QUADS = 32, 16, 64
// tune: TOKENS = 8, 1, 4, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * TOKENS)]] void embedding(
    device const uint* token, device const DTYPE* table, device DTYPE* y, constant uint& dims,
    uint2 place [[thread_position_in_grid]]) {
  device const DTYPE* from = table + ulong(token[place.y]) * dims;
  const uint column = 4 * place.x;
  store_quad(y + ulong(place.y) * dims, column, dims, load_quad(from, column, dims));
}
