// Softmax of each row. 128 threads keep two quads each, so rows of up to 1024 columns are read
// once; longer rows are correct, too.
// Threadgroup memory: 32 bytes.
// dispatch: softmax  threadgroups=(rows)  threads=(128)
#include "metalbench/softmax.h"
using namespace metalbench;

[[kernel]] void softmax(device const half* x, device half* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[4];  // one for each SIMD-group
  softmax_row<128, 2>(row_of(x, row, cols, -INFINITY), y + ulong(row) * cols, partial, PLACE);
}
