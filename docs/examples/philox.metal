// Four random words for each thread: the counter is the thread, so the words depend on neither the
// order of threads nor the size of threadgroups.
// Threadgroup memory: 0 bytes.
// dispatch: draw  threads_in_grid=(count)  threads=(128)
#include "metalbench/philox.h"
using namespace metalbench;

[[kernel]] void draw(device uint4* y, constant uint2& key, uint i [[thread_position_in_grid]]) {
  y[i] = philox(uint4(i, 0, 0, 0), key);
}
