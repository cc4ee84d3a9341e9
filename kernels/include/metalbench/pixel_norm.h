// Norms over the pixels of images, channels last: batch norm, instance norm, group norm and, with
// one group, the norm over everything of an image. An image (of batch norm, the whole batch) is a
// matrix of `rows` pixels by `channels`. Three dispatches, without atomics:
//   share    moments of each channel over Share rows, by a threadgroup of (Quads, Down) threads;
//   join     mean and 1 / sqrt(variance + eps) of each image and group, a SIMD-group each;
//   apply    y = (x - mean) scale, with what the kernel makes of it, Rows rows a thread.
// Moments are joined as by Chan, Golub and LeVeque (1983), from deviations: the mean of squares
// less the square of the mean cancels where values are far from zero.
#pragma once
#include "metalbench/divisor.h"
#include "metalbench/epilogues.h"
#include "metalbench/quads.h"

namespace metalbench {

// Of `count` elements each: the mean and the sum of squares of deviations from it.
template <typename V>
struct Spread {
  float count;
  V mean;
  V squares;

  // Those of both together.
  Spread with(Spread more) const {
    const float all = count + more.count;
    const float weight = all > 0.0f ? more.count / all : 0.0f;
    const V apart = more.mean - mean;
    return {all, mean + apart * weight, squares + more.squares + apart * apart * (count * weight)};
  }
};

// Rows of a thread that are in registers at a time.
constant constexpr uint kSpreadRows = 8;

// Four columns of every Down-th row from `first` to `end`, row by row of `cols` elements.
template <uint Down, typename T>
inline Spread<float4> spread_down(device const T* matrix, uint first, uint end, uint column,
                                  uint cols) {
  Spread<float4> all = {0.0f, 0.0f, 0.0f};
  for (uint row = first; row < end; row += Down * kSpreadRows) {
    const uint count = min(kSpreadRows, (end - row + Down - 1) / Down);
    float4 kept[kSpreadRows];
    float4 sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < kSpreadRows; ++i) {
      device const T* from = matrix + ulong(row + i * Down) * cols;
      // check: allow registers eight quads of a thread are on their way at once
      kept[i] = i < count ? load_quad(from, column, cols) : float4(0.0f);
      sum += kept[i];
    }
    const float4 mean = sum / float(count);
    float4 squares = 0.0f;
    UNROLLED
    for (uint i = 0; i < kSpreadRows; ++i) {
      const float4 d = i < count ? kept[i] - mean : float4(0.0f);
      squares = fma(d, d, squares);
    }
    all = all.with({float(count), mean, squares});
  }
  return all;
}

template <uint Quads, uint Down>
struct SpreadMemory {
  float count[Down];
  float4 mean[Down][Quads];
  float4 squares[Down][Quads];
};

// Leaves mean and squares of every channel over share `group.y` of image `group.z` in `partial`,
// float2 (images, shares, channels).
template <uint Quads, uint Down, uint Share, typename T>
inline void share_of_pixels(device const T* x, device float* partial, uint rows, uint channels,
                            uint3 group, uint2 at, threadgroup SpreadMemory<Quads, Down>& memory) {
  const uint column = 4 * (group.x * Quads + at.x);
  const uint begin = group.y * Share;
  const uint end = min(rows, begin + Share);
  device const T* matrix = x + ulong(group.z) * rows * channels;
  Spread<float4> all = {0.0f, 0.0f, 0.0f};
  if (column < channels) {
    all = spread_down<Down>(matrix, begin + at.y, end, column, channels);
  }
  if (at.x == 0) {
    memory.count[at.y] = all.count;
  }
  memory.mean[at.y][at.x] = all.mean;
  memory.squares[at.y][at.x] = all.squares;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (at.y == 0 && column < channels) {
    for (uint i = 1; i < Down; ++i) {
      all = all.with({memory.count[i], memory.mean[i][at.x], memory.squares[i][at.x]});
    }
    const uint shares = (rows + Share - 1) / Share;
    device float2* to = (device float2*)partial + ulong(group.z * shares + group.y) * channels;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (column + i < channels) {
        to[column + i] = float2(all.mean[i], all.squares[i]);
      }
    }
  }
}

// Mean and scale of group `index` of all images' groups into `moments`, float2 (images, groups), by
// the 32 lanes of a SIMD-group.
template <uint Share>
inline void join_shares(device const float* partial, device float* moments, uint rows,
                        uint channels, uint groups, float eps, uint index, uint lane) {
  const uint own = channels / groups;
  const uint image = index / groups;
  const uint shares = (rows + Share - 1) / Share;
  device const float2* from =
      (device const float2*)partial + ulong(image) * shares * channels + index % groups * own;
  Spread<float> all = {0.0f, 0.0f, 0.0f};
  const RowColumn step = RowColumn::of(32, own);
  for (RowColumn at = RowColumn::of(lane, own); at.row < shares; at = at.after(step, own)) {
    // check: allow strided-access two numbers of a channel, of Share pixels each
    const float2 moment = from[at.row * channels + at.column];
    all = all.with({float(min(Share, rows - at.row * Share)), moment.x, moment.y});
  }
  for (ushort step = 16; step > 0; step /= 2) {
    all = all.with({simd_shuffle_xor(all.count, step), simd_shuffle_xor(all.mean, step),
                    simd_shuffle_xor(all.squares, step)});
  }
  if (lane == 0) {
    ((device float2*)moments)[index] =
        float2(all.mean, precise::rsqrt(all.squares / all.count + eps));
  }
}

// y = f((x - mean) scale, row, column) for Rows rows of image `place.z`; channels of a group are
// neighbours. Needs `threads_in_grid=(ceil_div(channels, 4), ceil_div(rows, Rows), images)`.
template <uint Rows, typename F, typename T>
inline void apply_moments(F f, device const T* x, device const float* moments, device T* y,
                          uint rows, uint channels, uint groups, uint3 place) {
  const uint column = 4 * place.x;
  const uint own = channels / groups;
  device const float2* from = (device const float2*)moments + place.z * groups;
  float4 mean;
  float4 scale;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const float2 moment = from[min(column + i, channels - 1) / own];
    mean[i] = moment.x;
    scale[i] = moment.y;
  }
  const uint image = place.z * rows;
  const uint end = min(rows, (place.y + 1) * Rows);
  for (uint row = place.y * Rows; row < end; ++row) {
    const ulong start = ulong(image + row) * channels;
    const float4 v = (load_quad(x + start, column, channels) - mean) * scale;
    store_quad(y + start, column, channels, f(v, row, column));
  }
}

}  // namespace metalbench
