// The dispatches of deep networks for images, channels last: entry points that a kernel
// instantiates by a name for each geometry and activation, and whose arguments its `// dispatch:`
// lines bind.
//   convolve    convolutions with groups as matrix products, linear layers (one pixel) included;
//   depthwise   convolutions of each channel alone;
//   pool        maxima or means of windows; with one tap a copy into a wider array;
//   average     means of all pixels of an image;
//   join        the mean and 1 / sqrt(variance + eps) of channels;
//   apply       a norm, and what is added to it, as an array;  shuffle  a norm, channels in new
//               order.
// Batch norms have no separate dispatch: what makes an array leaves the moments of its channels
// (`_moments`), `join` joins them, and what reads the array next normalises what it fetches
// (`normed_`), with the activation after the norm. An array may be part of a wider one, `pitch`
// elements a pixel, from channel `first` on, so that nothing is copied where arrays are joined.
// Macros are the tile, BM x BN x BK, and (QUADS, DOWN) threads with ROWS pixels each for the rest.
#pragma once
#include "metalbench/activations.h"
#include "metalbench/joins.h"
#include "metalbench/window_norms.h"

#ifndef BM
#define BM 32
#define BN 32
#define BK 16
#endif
#ifndef QUADS
#define QUADS 8
#define DOWN 16
#endif
#ifndef ROWS
#define ROWS 4
#endif
#ifndef JOINED
#define JOINED 64
#endif

namespace metalbench {

struct Relu6 {
  template <typename T>
  T operator()(T x) const {
    return limited(x, 0.0f, 6.0f);
  }
};

// Fetches: what a dispatch makes of the numbers that an array holds. `quad` is for channels that
// begin at a multiple of four and are there, `of_channels` for any four, found once.

template <typename F>
struct AsStored {
  struct Channels {
    float4 operator()(float4 v) const { return F()(v); }
  };
  INLINED AsStored from(uint) const { return {}; }
  INLINED float4 quad(float4 v, uint) const { return F()(v); }
  INLINED float one(float v, uint) const { return F()(v); }
  INLINED Channels of_channels(uint, uint) const { return {}; }
};

// F((v - mean) scale weight + bias); moments are mean and scale of each channel.
template <typename F>
struct Normed {
  struct Channels {
    float4 mean;
    float4 scale;
    float4 bias;
    float4 operator()(float4 v) const { return F()(fma(v - mean, scale, bias)); }
  };
  device const float2* moments;
  device const float* weight;
  device const float* bias;

  INLINED Normed from(uint channel) const {
    return {moments + channel, weight + channel, bias + channel};
  }
  INLINED float4 quad(float4 v, uint channel) const {
    const float4 low = quad_at((device const float*)(moments + channel), 0);
    const float4 high = quad_at((device const float*)(moments + channel), 1);
    const float4 scale = float4(low.yw, high.yw) * quad_at(weight + channel, 0);
    return F()(fma(v - float4(low.xz, high.xz), scale, quad_at(bias + channel, 0)));
  }
  INLINED float one(float v, uint channel) const {
    const float2 moment = moments[channel];
    return F()(fma(v - moment.x, moment.y * weight[channel], bias[channel]));
  }
  INLINED Channels of_channels(uint channel, uint channels) const {
    Channels found;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint at = min(channel + i, channels - 1);
      const float2 moment = moments[at];
      found.mean[i] = moment.x;
      found.scale[i] = moment.y * weight[at];
      found.bias[i] = bias[at];
    }
    return found;
  }
};

// Patches (window_sources.h) of what is fetched; padding is zeros, whatever the norm is.
template <typename Steps, typename Fetch>
struct FetchedWindows {
  using element = float;
  using Stored = Windows<float, Steps>;
  using Line = typename Stored::Line;
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr bool kHasAdjacent = true;
  Stored stored;
  Fetch fetch;

  INLINED Line line(uint row) const { return stored.line(row); }
  INLINED bool whole(uint first, uint extent, uint step) const {
    return stored.whole(first, extent, step);
  }
  template <uint Count>
  INLINED void adjacent(thread float4* to, thread const Line& from, uint k, uint within) const {
    static_assert(Count == 1, "floats are loaded one quad at a time");
    const TapStep at = stored.taps.step(k + within);
    const int3 move = stored.move_of(at);
    const bool is_there = stored.inside(from.at + move);
    *to = is_there
              ? fetch.quad(quad_at(from.origin + stored.offset(move, at.channel), 0), at.channel)
              : float4(0.0f);
  }
  INLINED float4 quad(thread const Line& from, uint k) const {
    TapStep at = stored.taps.step(k);
    const uint depth = stored.depth();
    if ((stored.volume.channels | stored.volume.pitch) % 4 == 0) {
      const int3 move = stored.move_of(at);
      const bool is_there = k < depth && stored.inside(from.at + move);
      return is_there
                 ? fetch.quad(quad_at(from.origin + stored.offset(move, at.channel), 0), at.channel)
                 : float4(0.0f);
    }
    float4 v;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const int3 move = stored.move_of(at);
      const bool is_there = k + i < depth && stored.inside(from.at + move);
      v[i] = is_there ? fetch.one(from.origin[stored.offset(move, at.channel)], at.channel) : 0.0f;
      at = stored.taps.after(at);
    }
    return v;
  }
};

struct ConvolutionSizes {
  uint batch;
  uint height;
  uint width;
  uint channels;
  uint x_pitch;
  uint filters;
  uint y_pitch;
  uint first;
};

// Map(sums) of a tile, stored in `y` and left in its place for the moments.
template <uint TileN, typename Map>
struct StoredColumns {
  threadgroup float4* tile;
  device float* y;
  uint row;
  uint column;
  uint across;
  uint filters;
  uint pitch;
  Map map;

  threadgroup float4& quad(uint i) const { return tile[i * (TileN / 4) + across]; }
  float4 map_row(uint i) const {
    const float4 v = map(quad(i), row + i, column);
    quad(i) = v;
    store_quad(y + ulong(row + i) * pitch, column, filters, v);
    return v;
  }
};

// One tile of a convolution; groups are the depth of the grid.
template <uint Taps, uint Stride, uint Padding, typename Fetch>
struct NetworkConvolution {
  using Side = Along<Taps, Stride, Padding>;
  using Steps = Forward<Once, Side, Side>;
  using Input = FetchedWindows<Steps, Fetch>;
  using Filters = WindowFilters<float, Steps>;
  using Tile = Product<Input, Filters, BM, BN, BK>;
  using Spreads = TileSpread<BM, BN>;
  static constant constexpr uint kSpilled = Spilled<Tile, BM, BN>::kMemory;
  static constant constexpr uint kMemory =
      kSpilled > 2 * kTileThreads ? kSpilled : 2 * kTileThreads;
  device const float* x;
  device const float* weight;
  ConvolutionSizes sizes;
  Fetch fetch;
  uint3 tile;
  uint groups;

  INLINED uint own() const { return sizes.filters / groups; }
  INLINED uint2 corner() const { return tile.xy * uint2(BN, BM); }

  INLINED uint multiply(thread Tile& product) const {
    const uint inner = sizes.channels / groups;
    const uint begin = tile.z * inner;
    const Volume volume = {sizes.batch, 1, sizes.height, sizes.width, inner, sizes.x_pitch};
    const Input input = {{x + begin, volume}, fetch.from(begin)};
    const uint depth = Taps * Taps * inner;
    product.multiply(
        input, Filters{weight + ulong(tile.z * own()) * depth, own(), depth, input.stored.taps},
        depth);
    return input.stored.rows();
  }

  template <typename Map>
  INLINED void store(device float* y, Map map, threadgroup float4* memory, Place place) const {
    Tile product(corner(), memory, place);
    const uint rows = multiply(product);
    product.store(
        StoreSlice<float, Map>{y + sizes.first + tile.z * own(), rows, own(), sizes.y_pitch, map});
  }

  // The same, and the moments of the tile's channels; `shares` is float4 (tiles, filters).
  template <typename Map>
  INLINED void store_moments(device float* y, device float* shares, Map map,
                             threadgroup float4* memory, Place place) const {
    Tile product(corner(), memory, place);
    const uint rows = multiply(product);
    spill<BN>(product);
    const uint row = corner().y;
    const uint count = min(uint(BM), max(rows, row) - row);
    const uint across = place.thread_index % Spreads::kAcross;
    const uint column = corner().x + 4 * across;
    const uint begin = tile.z * own();
    const StoredColumns<BN, Map> sums = {memory, y + sizes.first + begin, row, column, across,
                                         own(),  sizes.y_pitch,           map};
    const Spread<float4> part = Spreads::part(sums, column < own() ? count : 0, place.thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const Spread<float4> all = Spreads::joined(part, count, memory, place.thread_index);
    if (place.thread_index < Spreads::kAcross) {
      device float4* to = (device float4*)shares + ulong(tile.y) * sizes.filters + begin;
      for (uint i = 0; i < 4 && column + i < own(); ++i) {
        to[column + i] = kept_spread({float(count), all.mean[i], all.squares[i]});
      }
    }
  }
};

// Joins of the pixels of a window (joins.h), with a weight for each tap.

template <typename Op>
struct Unweighted {
  Op op;
  INLINED float4 first() const { return op.first(); }
  INLINED float4 weight(uint) const { return 0.0f; }
  INLINED float4 join(float4 sum, float4 v, float4) const { return op.join(sum, v); }
  INLINED float4 finish(float4 sum, uint count) const { return op.finish(sum, count); }
};

struct Weighted {
  device const float* weights;  // (channels, taps)
  uint channel;
  uint channels;
  uint taps;
  INLINED float4 first() const { return 0.0f; }
  INLINED float4 weight(uint tap) const {
    float4 found;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      // check: allow strided-access filters are few, and each serves all pixels of a thread
      found[i] = weights[min(channel + i, channels - 1) * taps + tap];
    }
    return found;
  }
  INLINED float4 join(float4 sum, float4 v, float4 weight) const { return fma(v, weight, sum); }
  INLINED float4 finish(float4 sum, uint) const { return sum; }
};

struct WindowSizes {
  uint batch;
  uint height;
  uint width;
  uint to_height;
  uint to_width;
  uint channels;
  uint x_pitch;
  uint y_pitch;
  uint first;
  INLINED uint pixels() const { return batch * to_height * to_width; }
};

// Four channels of ROWS pixels of the output, every DOWN-th: a threadgroup is (QUADS, DOWN) threads
// and has the pixels from `block` times their number on. Pixels outside of the input are left out.
template <uint Taps, uint Stride, uint Padding, typename Op, typename Channels>
INLINED inline Spread<float4> windows_of_channels(Op op, Channels fetched, device const float* x,
                                                  device float* y, WindowSizes sizes, uint channel,
                                                  uint block, uint down) {
  float4 sums[ROWS];
  int2 corners[ROWS];
  uint images[ROWS];
  const uint begin = block * (ROWS * DOWN) + down;
  UNROLLED
  for (uint i = 0; i < ROWS; ++i) {
    const uint pixel = min(begin + i * DOWN, sizes.pixels() - 1);
    const uint line = pixel / sizes.to_width;
    const uint image = line / sizes.to_height;
    corners[i] = int2(pixel - line * sizes.to_width, line - image * sizes.to_height) * int(Stride) -
                 int(Padding);
    images[i] = image * sizes.height * sizes.width;
    sums[i] = op.first();
  }
  ROLLED
  for (uint tap = 0; tap < Taps * Taps; ++tap) {
    const float4 weight = op.weight(tap);
    UNROLLED
    for (uint i = 0; i < ROWS; ++i) {
      const int2 at = corners[i] + int2(tap % Taps, tap / Taps);
      if (uint(at.x) < sizes.width && uint(at.y) < sizes.height) {
        const uint pixel = images[i] + uint(at.y) * sizes.width + uint(at.x);
        const float4 v = load_quad(x + ulong(pixel) * sizes.x_pitch, channel, sizes.channels);
        // check: allow registers the sums of all pixels of a thread stay in registers
        sums[i] = op.join(sums[i], fetched(v), weight);
      }
    }
  }
  const uint left = max(sizes.pixels(), begin) - begin;
  const uint count = min(uint(ROWS), (left + DOWN - 1) / DOWN);
  float4 sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < ROWS; ++i) {
    if (i < count) {
      sums[i] = op.finish(sums[i], Taps * Taps);
      store_quad(y + sizes.first + ulong(begin + i * DOWN) * sizes.y_pitch, channel, sizes.channels,
                 sums[i]);
      sum += sums[i];
    }
  }
  const float4 mean = sum / max(float(count), 1.0f);
  float4 squares = 0.0f;
  UNROLLED
  for (uint i = 0; i < ROWS; ++i) {
    const float4 d = i < count ? sums[i] - mean : float4(0.0f);
    squares = fma(d, d, squares);
  }
  return {float(count), mean, squares};
}

// Leaves the moments of four channels of a threadgroup's pixels in `shares`, float4 (blocks,
// channels).
inline void store_share(Spread<float4> all, device float* shares, uint channel, uint channels,
                        uint block, uint2 at, threadgroup SpreadMemory<QUADS, DOWN>& memory) {
  if (at.x == 0) {
    memory.count[at.y] = all.count;
  }
  memory.mean[at.y][at.x] = all.mean;
  memory.squares[at.y][at.x] = all.squares;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (at.y == 0 && channel < channels) {
    for (uint i = 1; i < DOWN; ++i) {
      all = all.with({memory.count[i], memory.mean[i][at.x], memory.squares[i][at.x]});
    }
    device float4* to = (device float4*)shares + ulong(block) * channels;
    for (uint i = 0; i < 4 && channel + i < channels; ++i) {
      // check: allow strided-access moments are few, one for all pixels of a threadgroup
      to[channel + i] = kept_spread({all.count, all.mean[i], all.squares[i]});
    }
  }
}

}  // namespace metalbench

// Entry points have no namespace: `// dispatch:` lines name them.
using namespace metal;
using namespace metalbench;

#define NORM_ARGUMENTS(name)                                             \
  device const float *name##_moments, device const float *name##_weight, \
      device const float *name##_bias
#define NORM(name, F) \
  Normed<F> { (device const float2*)name##_moments, name##_weight, name##_bias }

#define CONVOLUTION_NUMBERS                                                                   \
  constant uint &batch, constant uint &height, constant uint &width, constant uint &channels, \
      constant uint &x_pitch, constant uint &filters, constant uint &y_pitch,                 \
      constant uint &first, uint3 tile [[threadgroup_position_in_grid]],                      \
      uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS
#define CONVOLUTION_ARGUMENTS \
  device const float *x, device const float *weight, device float *y, CONVOLUTION_NUMBERS
#define CONVOLUTION(Fetch, fetch)                                                        \
  using Convolution = NetworkConvolution<Taps, Stride, Padding, Fetch>;                  \
  threadgroup float4 memory[Convolution::kMemory];                                       \
  const Convolution convolution = {                                                      \
      x,     weight, {batch, height, width, channels, x_pitch, filters, y_pitch, first}, \
      fetch, tile,   grid.z}

template <uint Taps, uint Stride, uint Padding, typename F, typename Then>
[[kernel]] void convolve(CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(AsStored<F>, AsStored<F>());
  convolution.store(y, Activated<Then>(), memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F, typename Then>
[[kernel]] void convolve_biased(device const float* bias, CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(AsStored<F>, AsStored<F>());
  convolution.store(y, BiasedThen<float, Then>{{bias, filters}, {}}, memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void convolve_moments(device float* shares, CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(AsStored<F>, AsStored<F>());
  convolution.store_moments(y, shares, AsItIs(), memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void convolve_biased_moments(device const float* bias, device float* shares,
                                        CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(AsStored<F>, AsStored<F>());
  convolution.store_moments(y, shares, Biased<float>{bias, filters}, memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F, typename Then>
[[kernel]] void normed_convolve(NORM_ARGUMENTS(x), CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(Normed<F>, NORM(x, F));
  convolution.store(y, Activated<Then>(), memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void normed_convolve_moments(NORM_ARGUMENTS(x), device float* shares,
                                        CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(Normed<F>, NORM(x, F));
  convolution.store_moments(y, shares, AsItIs(), memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void normed_convolve_biased_moments(NORM_ARGUMENTS(x), device const float* bias,
                                               device float* shares, CONVOLUTION_ARGUMENTS) {
  CONVOLUTION(Normed<F>, NORM(x, F));
  convolution.store_moments(y, shares, Biased<float>{bias, filters}, memory, PLACE);
}

// The same where the filters are further channels of the array that is read.
template <uint Taps, uint Stride, uint Padding, typename F, typename Then>
[[kernel]] void normed_extend(NORM_ARGUMENTS(x), device float* x, device const float* weight,
                              CONVOLUTION_NUMBERS) {
  CONVOLUTION(Normed<F>, NORM(x, F));
  convolution.store(x, Activated<Then>(), memory, PLACE);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void normed_extend_moments(NORM_ARGUMENTS(x), device float* x,
                                      device const float* weight, device float* shares,
                                      CONVOLUTION_NUMBERS) {
  CONVOLUTION(Normed<F>, NORM(x, F));
  convolution.store_moments(x, shares, AsItIs(), memory, PLACE);
}

#define WINDOW_ARGUMENTS                                                               \
  device const float *x, device float *y, constant uint &batch, constant uint &height, \
      constant uint &width, constant uint &to_height, constant uint &to_width,         \
      constant uint &channels, constant uint &x_pitch, constant uint &y_pitch,         \
      constant uint &first, uint2 group [[threadgroup_position_in_grid]],              \
      uint2 at [[thread_position_in_threadgroup]]
#define WINDOWS(op, fetch)                                                                       \
  const uint channel = 4 * (group.x * QUADS + at.x);                                             \
  const WindowSizes sizes = {batch,    height,  width,   to_height, to_width,                    \
                             channels, x_pitch, y_pitch, first};                                 \
  Spread<float4> all = {0.0f, 0.0f, 0.0f};                                                       \
  if (channel < channels) {                                                                      \
    all = windows_of_channels<Taps, Stride, Padding>(op, (fetch).of_channels(channel, channels), \
                                                     x, y, sizes, channel, group.y, at.y);       \
  }

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void depthwise_moments(device const float* weight, device float* shares,
                                  WINDOW_ARGUMENTS) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  WINDOWS((Weighted{weight, channel, channels, Taps * Taps}), AsStored<F>());
  store_share(all, shares, channel, channels, group.y, at, memory);
}

template <uint Taps, uint Stride, uint Padding, typename F>
[[kernel]] void normed_depthwise_moments(NORM_ARGUMENTS(x), device const float* weight,
                                         device float* shares, WINDOW_ARGUMENTS) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  WINDOWS((Weighted{weight, channel, channels, Taps * Taps}), (NORM(x, F)));
  store_share(all, shares, channel, channels, group.y, at, memory);
}

template <uint Taps, uint Stride, uint Padding, typename Op, typename F>
[[kernel]] void pool(WINDOW_ARGUMENTS) {
  WINDOWS(Unweighted<Op>(), AsStored<F>());
}

template <uint Taps, uint Stride, uint Padding, typename Op, typename F>
[[kernel]] void pool_moments(device float* shares, WINDOW_ARGUMENTS) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  WINDOWS(Unweighted<Op>(), AsStored<F>());
  store_share(all, shares, channel, channels, group.y, at, memory);
}

template <uint Taps, uint Stride, uint Padding, typename Op, typename F>
[[kernel]] void normed_pool(NORM_ARGUMENTS(x), WINDOW_ARGUMENTS) {
  WINDOWS(Unweighted<Op>(), (NORM(x, F)));
}

template <uint Taps, uint Stride, uint Padding, typename Op, typename F>
[[kernel]] void normed_pool_moments(NORM_ARGUMENTS(x), device float* shares, WINDOW_ARGUMENTS) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  WINDOWS(Unweighted<Op>(), (NORM(x, F)));
  store_share(all, shares, channel, channels, group.y, at, memory);
}

#define AVERAGE_ARGUMENTS                                                                 \
  device const float *x, device float *y, constant uint &pixels, constant uint &channels, \
      constant uint &x_pitch, uint2 group [[threadgroup_position_in_grid]],               \
      uint2 at [[thread_position_in_threadgroup]]
#define AVERAGE(fetch)                                                                 \
  threadgroup float4 memory[DOWN][QUADS];                                              \
  const uint channel = 4 * (group.x * QUADS + at.x);                                   \
  float4 sum = 0.0f;                                                                   \
  if (channel < channels) {                                                            \
    const auto fetched = (fetch).of_channels(channel, channels);                       \
    device const float* image = x + ulong(group.y) * pixels * x_pitch;                 \
    for (uint pixel = at.y; pixel < pixels; pixel += DOWN) {                           \
      sum += fetched(load_quad(image + ulong(pixel) * x_pitch, channel, channels));    \
    }                                                                                  \
  }                                                                                    \
  memory[at.y][at.x] = sum;                                                            \
  threadgroup_barrier(mem_flags::mem_threadgroup);                                     \
  if (at.y == 0 && channel < channels) {                                               \
    for (uint i = 1; i < DOWN; ++i) {                                                  \
      sum += memory[i][at.x];                                                          \
    }                                                                                  \
    store_quad(y + ulong(group.y) * channels, channel, channels, sum / float(pixels)); \
  }

template <typename F>
[[kernel]] void average(AVERAGE_ARGUMENTS) {
  AVERAGE(AsStored<F>());
}

template <typename F>
[[kernel]] void normed_average(NORM_ARGUMENTS(x), AVERAGE_ARGUMENTS) {
  AVERAGE((NORM(x, F)));
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& count,
                     constant uint& channels, constant uint& first,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[JOINED / 32];
  join_moments<JOINED / 32>(shares, moments + 2 * first, count, channels, channels, 1e-5f, index,
                            memory, PLACE);
}

#define APPLY_ARGUMENTS                                                                   \
  device const float *x, device float *y, constant uint &pixels, constant uint &channels, \
      uint2 place [[thread_position_in_grid]]

// Four channels of ROWS pixels of an array that is written: `threads_in_grid=(ceil_div(channels,
// 4), ceil_div(pixels, ROWS))`. `value` is of the pixel that begins at `start`.
#define APPLY(value)                                        \
  const uint channel = 4 * place.x;                         \
  const uint end = min(pixels, (place.y + 1) * ROWS);       \
  for (uint pixel = place.y * ROWS; pixel < end; ++pixel) { \
    const ulong start = ulong(pixel) * channels;            \
    store_quad(y + start, channel, channels, value);        \
  }

template <typename F>
[[kernel]] void normed_apply(NORM_ARGUMENTS(x), APPLY_ARGUMENTS) {
  const auto fetched = NORM(x, F).of_channels(4 * place.x, channels);
  APPLY(fetched(load_quad(x + start, channel, channels)));
}

template <typename F, typename Then>
[[kernel]] void normed_add(NORM_ARGUMENTS(x), device const float* other, APPLY_ARGUMENTS) {
  const auto fetched = NORM(x, F).of_channels(4 * place.x, channels);
  APPLY(Then()(fetched(load_quad(x + start, channel, channels)) +
               load_quad(other + start, channel, channels)));
}

template <typename F, typename Then>
[[kernel]] void normed_add_normed(NORM_ARGUMENTS(x), device const float* other,
                                  NORM_ARGUMENTS(other), APPLY_ARGUMENTS) {
  const auto fetched = NORM(x, F).of_channels(4 * place.x, channels);
  const auto added = NORM(other, Identity).of_channels(4 * place.x, channels);
  APPLY(Then()(fetched(load_quad(x + start, channel, channels)) +
               added(load_quad(other + start, channel, channels))));
}

// Four channels from `channel` on, of which channel i is channel i / groups of group i % groups.
template <typename Norm>
inline float4 shuffled(Norm norm, device const float* pixel, uint channel, uint channels,
                       Divisor groups) {
  const uint own = groups.quotient(channels);
  float4 v;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint to = min(channel + i, channels - 1);
    const uint index = groups.quotient(to);
    const uint from = (to - index * groups.value) * own + index;
    // check: allow strided-access channels of different groups lie apart
    v[i] = norm.one(pixel[from], from);
  }
  return v;
}

template <typename F>
[[kernel]] void normed_shuffle(NORM_ARGUMENTS(x), constant uint& groups, APPLY_ARGUMENTS) {
  const auto norm = NORM(x, F);
  const Divisor divisor = Divisor::of(groups);
  APPLY(shuffled(norm, x + start, channel, channels, divisor));
}
