// Images cut into patches of 8 x 8 pixels. A row of a patch is 8 pixels that lie side by side in
// both: a thread moves four elements of such a row, so that reads and writes are whole vectors
// where channels allow it. Nothing is computed; the bits are those of the image.
// dispatch: patchify  threads_in_grid=(ceil_div(8 * channels, 4), width / 8, batch * height)  threads=(8, TG / 8, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: side == 8, height % 8 == 0, width % 8 == 0
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint SIDE = 8;

[[kernel]] void patchify(device const DTYPE* x, device DTYPE* y, constant uint& width,
                         constant uint& channels, uint3 at [[thread_position_in_grid]]) {
  const uint count = SIDE * channels, across = width / SIDE;
  device const DTYPE* from = x + (ulong(at.z) * width + at.y * SIDE) * channels;
  const ulong patch = ulong(at.z / SIDE) * across + at.y;
  device DTYPE* to = y + (patch * SIDE + at.z % SIDE) * count;
  store_quad(to, 4 * at.x, count, load_quad(from, 4 * at.x, count));
}
