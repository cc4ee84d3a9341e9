// Patches of 3 x 3 pixels as rows. The three pixels of a line of a patch follow each other in the
// image as they do in the row: a thread moves four elements of such a line. Every pixel is read
// nine times, from the cache but for the first, and memory is written nine times as much as is
// read.
// dispatch: im2col  threads_in_grid=(3 * ceil_div(3 * channels, 4), width - 2, batch * (height - 2))  threads=(TG, 128 / TG, 1)
// tune: TG = 32, 16, 64
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void im2col(device const DTYPE* x, device DTYPE* y, constant uint& height,
                       constant uint& width, constant uint& channels,
                       uint3 at [[thread_position_in_grid]]) {
  const uint count = 3 * channels, quads = (count + 3) / 4;
  const uint tap = at.x / quads, column = 4 * (at.x % quads);
  const uint row = at.z % (height - 2), image = at.z / (height - 2);
  const ulong from = ((ulong(image) * height + row + tap) * width + at.y) * channels;
  const ulong to = ((ulong(at.z) * (width - 2) + at.y) * 3 + tap) * count;
  store_quad(y + to, column, count, load_quad(x + from, column, count));
}
