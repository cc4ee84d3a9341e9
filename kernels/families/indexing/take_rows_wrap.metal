// Rows of a table by signed indices, as numpy.take has them: an index beyond the table is wrapped
// around, moved to the nearest row, or counts from the end if it is negative and gives a row of zeros
// if there is none. A thread takes four columns.
// dispatch: take_rows  threads_in_grid=(ceil_div(cols, 4), count)  threads=(TG, 1)
// instance: wrap MODE = 0
// instance: clip MODE = 1
// instance: fill MODE = 2
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

// A row that is not in the table.
constant constexpr uint NONE = 0xffffffff;

static uint row_of(int index, uint rows) {
#if MODE == 0
  const int rest = index % int(rows);
  return uint(rest < 0 ? rest + int(rows) : rest);
#elif MODE == 1
  return uint(clamp(index, 0, int(rows) - 1));
#else
  const uint row = uint(index < 0 ? index + int(rows) : index);
  return row < rows ? row : NONE;
#endif
}

[[kernel]] void take_rows(device const DTYPE* x, device const int* index, device DTYPE* y,
                          constant uint& rows, constant uint& cols,
                          uint2 at [[thread_position_in_grid]]) {
  const uint row = row_of(index[at.y], rows);
  float4 v = 0;
  if (row != NONE) {
    v = load_quad(x + ulong(row) * cols, 4 * at.x, cols);
  }
  store_quad(y + ulong(at.y) * cols, 4 * at.x, cols, v);
}
