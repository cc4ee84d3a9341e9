// Tokens of an image in windows of 7 x 7, as columns of a product with a matrix over the tokens of
// a window: a column is a channel of a head in a window, depth is the tokens of the window. What is
// multiplied are tokens behind a layer norm (layer_norms.h), zeros where a shifted window is
// outside of the image.
#pragma once
#include "metalbench/divisor.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"

namespace metalbench {

// A column: its window, x and y and the image, and the channel within the head.
struct WindowColumn {
  uint3 window;
  uint channel;
};

// Images of `across` tokens each way, in `windows` windows each way, of which the first begins
// `shift` tokens before the image. A head has `dims` of the channels, from `first` on.
struct TokenWindows {
  uint batch;
  uint across;
  uint channels;
  Divisor dims;
  Divisor windows;
  uint shift;
  uint first;

  // Neighbouring columns are neighbouring channels of a token.
  bool has_quads() const { return dims.value % 4 == 0; }

  INLINED WindowColumn column(uint index) const {
    const uint window = dims.quotient(index), line = windows.quotient(window);
    const uint image = windows.quotient(line);
    return {uint3(window - line * windows.value, line - image * windows.value, image),
            index - window * dims.value};
  }

  // The column behind another one.
  INLINED WindowColumn after(WindowColumn at) const {
    const bool is_window = ++at.channel == dims.value;
    at.channel = is_window ? 0 : at.channel;
    at.window.x += uint(is_window);
    const bool is_line = at.window.x == windows.value;
    at.window.x = is_line ? 0 : at.window.x;
    at.window.y += uint(is_line);
    const bool is_image = at.window.y == windows.value;
    at.window.y = is_image ? 0 : at.window.y;
    at.window.z += uint(is_image);
    return at;
  }

  // The token of a window, -1 outside of the images.
  INLINED int token(uint3 window, uint number) const {
    const uint x = window.x * 7 + number % 7 - shift, y = window.y * 7 + number / 7 - shift;
    const bool is_inside = x < across && y < across && window.z < batch;
    return is_inside ? int((window.z * across + y) * across + x) : -1;
  }
};

// A source (tile_sources.h): the tokens, normed, in columns.
struct WindowTokens {
  using element = float;
  using Line = WindowColumn;
  static constant constexpr bool kAlongDepth = false;
  device const float* tokens;
  device const float* moments;
  device const float* weight;
  device const float* bias;
  TokenWindows geometry;

  INLINED Line line(uint column) const { return geometry.column(column); }

  INLINED float4 quad(thread const Line& of, uint k) const {
    float4 found = 0.0f;
    if (k < 49 && geometry.has_quads()) {
      const int token = geometry.token(of.window, k);
      if (token >= 0) {
        const uint channel = geometry.first + of.channel;
        const float2 moment = ((device const float2*)moments)[token];
        const float4 v = quad_at(tokens + ulong(token) * geometry.channels + channel, 0);
        found = fma((v - moment.x) * moment.y, quad_at(weight + channel, 0),
                    quad_at(bias + channel, 0));
      }
    } else if (k < 49) {
      WindowColumn at = of;
      UNROLLED
      for (uint i = 0; i < 4; ++i) {
        const int token = geometry.token(at.window, k);
        if (token >= 0) {
          const uint channel = geometry.first + at.channel;
          const float2 moment = ((device const float2*)moments)[token];
          const float v = tokens[ulong(token) * geometry.channels + channel];
          found[i] = fma((v - moment.x) * moment.y, weight[channel], bias[channel]);
        }
        at = geometry.after(at);
      }
    }
    return found;
  }
};

// An epilogue (epilogues.h): the sum and the bias of a token's place in a window, added to the
// token.
struct StoreTokens {
  device float* to;
  device const float* tokens;
  device const float* bias;
  TokenWindows geometry;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row >= 49) {
      return;
    }
    const float4 v = *sums + bias[row];
    WindowColumn at = geometry.column(column);
    if (geometry.has_quads()) {
      const int token = geometry.token(at.window, row);
      if (token >= 0) {
        const ulong place = ulong(token) * geometry.channels + geometry.first + at.channel;
        put_quad(to + place, 0, quad_at(tokens + place, 0) + v);
      }
      return;
    }
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const int token = geometry.token(at.window, row);
      if (token >= 0) {
        const ulong place = ulong(token) * geometry.channels + geometry.first + at.channel;
        to[place] = tokens[place] + v[i];
      }
      at = geometry.after(at);
    }
  }
};

}  // namespace metalbench
