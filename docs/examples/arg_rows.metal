// Where the largest element of each row is, the first of equal ones.
// Threadgroup memory: 32 bytes.
// dispatch: argmax  threadgroups=(rows)  threads=(128)
#include "metalbench/arg_rows.h"
using namespace metalbench;

[[kernel]] void argmax(device const float* x, device uint* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ArgMemory<4> memory;  // four SIMD-groups
  arg_of_row<128>(1.0f, x + ulong(row) * cols, y + row, cols, memory, PLACE);
}
