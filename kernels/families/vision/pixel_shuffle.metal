// Channels become pixels, channels last: four neighbouring elements of the input are the squares of
// one channel. A thread reads these four at once, and writes them to four pixels; its neighbours
// write the channels next to them, so that writes are whole cache lines, too.
// dispatch: pixel_shuffle  threads_in_grid=(channels, width, batch * height)  threads=(TG, 128 / TG, 1)
// tune: TG = 16, 8, 32, 64
// dtypes: float32, float16, bfloat16
// limits: side == 2
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void pixel_shuffle(device const DTYPE* x, device DTYPE* y, constant uint& width,
                              constant uint& channels, uint3 at [[thread_position_in_grid]]) {
  const ulong pixel = ulong(at.z) * width + at.y;
  const Quad<DTYPE> v = ((device const Quad<DTYPE>*)x)[pixel * channels + at.x];
  const ulong row = ulong(width) * 2 * channels;
  device DTYPE* to = y + 2 * at.z * row + ulong(2 * at.y) * channels + at.x;
  to[0] = v.x;
  to[channels] = v.y;
  to[row] = v.z;
  to[row + channels] = v.w;
}
