// Two hundred and fifty-six multiply-adds for each element, four elements a thread.
// dispatch: arithmetic_roof  threads_in_grid=(ceil_div(n, 4))  threads=(256)
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void arithmetic_roof(device const float* x, device float* y, constant uint& n,
                                uint i [[thread_position_in_grid]]) {
  float4 v = load_quad(x, 4 * i, n);
  for (uint step = 0; step < 256; ++step) {
    v = fma(v, 0.5f, 0.25f);
  }
  store_quad(y, 4 * i, n, v);
}
