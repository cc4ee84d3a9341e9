// A copy, four elements a thread.
// dispatch: copy_roof  threads_in_grid=(ceil_div(n, 4))  threads=(256)
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void copy_roof(device const float* x, device float* y, constant uint& n,
                          uint i [[thread_position_in_grid]]) {
  store_quad(y, 4 * i, n, load_quad(x, 4 * i, n));
}
