// The median of each row, without a sort: the values in the middle are found bit by bit, as
// integers of the same order, by counting how many are at or above (metalbench/cut.h). A row comes
// from memory once, then from the cache, and may be of any length. Of an odd number there is one in
// the middle, of an even number two, whose mean is taken.
// dispatch: median_rows  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/cut.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct One {
  float4 operator()(float4) const { return 1.0f; }
};

[[kernel]] void median_rows(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                            uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[2 * TG / 32];
  device const DTYPE* from = x + ulong(row) * cols;
  const float above = float(cols - cols / 2);
  const float upper = of_sort_key(cut_of_row<TG>(One(), above, from, cols, partial, PLACE));
  float lower = upper;
  if (cols % 2 == 0) {
    lower = of_sort_key(cut_of_row<TG>(One(), above + 1.0f, from, cols, partial, PLACE));
  }
  if (thread_index == 0) {
    y[row] = DTYPE(0.5f * lower + 0.5f * upper);
  }
}
