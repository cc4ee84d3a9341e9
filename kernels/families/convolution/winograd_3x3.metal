// 3 x 3 convolution by Winograd's minimal filtering, F(2 x 2, 3 x 3): four outputs take 16 products
// in place of 36 (Lavin and Gray, arXiv 1509.09308). Filters and windows of 4 x 4 pixels, two apart,
// are transformed first; for each of 16 places what they come to is one product of matrices, windows
// by channels and channels by filters; and sums are transformed back. Its constants are 1 and 1/2,
// so that single precision loses hardly anything; what is transformed is float for halves, too.
// dispatch: transform_filters  threads_in_grid=(ceil_div(channels, 4), filters)  threads=(32, 4)
// dispatch: transform_windows  threads_in_grid=(ceil_div(channels, 4), ceil_div(width, 2), batch * ceil_div(height, 2))  threads=(32, 4, 1)
// dispatch: products  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ceil_div(height, 2) * ceil_div(width, 2), BM), 16)  threads=(128)
// dispatch: transform_sums  threads_in_grid=(ceil_div(filters, 4), ceil_div(width, 2), batch * ceil_div(height, 2))  threads=(32, 4, 1)
// scratch: u float32 (16, filters, channels)
// scratch: v float32 (16, batch * ceil_div(height, 2) * ceil_div(width, 2), channels)
// scratch: m float32 (16, batch * ceil_div(height, 2) * ceil_div(width, 2), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

// Three taps to four numbers, along rows or columns of what lies `step` apart.
static void of_taps(thread float4* at, uint step) {
  const float4 a = at[0], b = at[step], c = at[2 * step];
  at[step] = 0.5f * (a + b + c);
  at[2 * step] = 0.5f * (a - b + c);
  at[3 * step] = c;
}

static void of_pixels(thread float4* at, uint step) {
  const float4 a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
  at[0] = a - c;
  at[step] = b + c;
  at[2 * step] = c - b;
  at[3 * step] = b - d;
}

// Four numbers to two sums.
static void of_sums(thread float4* at, uint step) {
  const float4 a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
  at[0] = a + b + c;
  at[step] = b - c - d;
}

// The 16 numbers of four channels to their matrices, `apart` from each other.
static void put_places(thread const float4 (&v)[16], device float* row, ulong apart, uint channel,
                       uint channels) {
  UNROLLED
  for (uint place = 0; place < 16; ++place) {
    store_quad(row + place * apart, channel, channels, v[place]);
  }
}

[[kernel]] void transform_filters(device const DTYPE* w, device float* u, constant uint& filters,
                                  constant uint& channels, uint2 at [[thread_position_in_grid]]) {
  float4 v[16];
  UNROLLED
  for (uint tap = 0; tap < 9; ++tap) {
    v[tap / 3 * 4 + tap % 3] =
        load_quad(w + (ulong(at.y) * 9 + tap) * channels, 4 * at.x, channels);
  }
  UNROLLED
  for (uint i = 0; i < 3; ++i) {
    of_taps(v + 4 * i, 1);
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    // check: allow registers all 16 numbers of four channels are needed at once
    of_taps(v + i, 4);
  }
  put_places(v, u + ulong(at.y) * channels, ulong(filters) * channels, 4 * at.x, channels);
}

[[kernel]] void transform_windows(device const DTYPE* x, device float* v, constant uint& height,
                                  constant uint& width, constant uint& channels,
                                  uint3 at [[thread_position_in_grid]],
                                  uint3 extents [[threads_per_grid]]) {
  const uint down = (height + 1) / 2, image = at.z / down;
  const uint top = 2 * (at.z % down), left = 2 * at.y;  // and one less
  float4 window[16];
  UNROLLED
  for (uint place = 0; place < 16; ++place) {
    const uint row = top + place / 4, column = left + place % 4;
    const bool inside = row > 0 && row <= height && column > 0 && column <= width;
    const ulong pixel = (ulong(image) * height + row - 1) * width + column - 1;
    // check: allow registers all 16 pixels of four channels are needed at once
    window[place] = inside ? load_quad(x + pixel * channels, 4 * at.x, channels) : float4(0.0f);
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    of_pixels(window + 4 * i, 1);
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    of_pixels(window + i, 4);
  }
  const ulong apart = ulong(extents.z) * extents.y * channels;
  put_places(window, v + (ulong(at.z) * extents.y + at.y) * channels, apart, 4 * at.x, channels);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void products(
    device const float* u, device const float* v, device float* m, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Rows = MatrixRows<float>;
  using Tile = Product<Rows, Rows, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint windows = batch * ((height + 1) / 2) * ((width + 1) / 2);
  const Rows of_windows = {v + ulong(tile.z) * windows * channels, windows, channels};
  const Rows of_filters = {u + ulong(tile.z) * filters * channels, filters, channels};
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply(of_windows, of_filters, channels);
  product.store(Store<float>{m + ulong(tile.z) * windows * filters, windows, filters});
}

[[kernel]] void transform_sums(device const float* m, device DTYPE* y, constant uint& height,
                               constant uint& width, constant uint& filters,
                               uint3 at [[thread_position_in_grid]],
                               uint3 extents [[threads_per_grid]]) {
  const ulong apart = ulong(extents.z) * extents.y * filters;
  device const float* from = m + (ulong(at.z) * extents.y + at.y) * filters;
  float4 sums[16];
  UNROLLED
  for (uint place = 0; place < 16; ++place) {
    // check: allow registers all 16 sums of four filters are needed at once
    sums[place] = load_quad(from + place * apart, 4 * at.x, filters);
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    of_sums(sums + 4 * i, 1);
  }
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    of_sums(sums + i, 4);
  }
  const uint down = (height + 1) / 2, image = at.z / down;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint row = 2 * (at.z % down) + i / 2, column = 2 * at.y + i % 2;
    if (row < height && column < width) {
      const ulong pixel = (ulong(image) * height + row) * width + column;
      store_quad(y + pixel * filters, 4 * at.x, filters, sums[i / 2 * 4 + i % 2]);
    }
  }
}
