// Attention by cosines within windows of 7 x 7 tokens of an image (Liu and others, "Swin
// Transformer V2", arXiv 2111.09883): a threadgroup of 64 threads has a head of a window, keys and
// values in its memory, and a thread one query with its softmax so far. Heads have up to 32 dims.
#pragma once
#include "metalbench/activations.h"
#include "metalbench/quads.h"

namespace metalbench {

constant constexpr uint kWindowTokens = 49;
constant constexpr uint kWindowQuads = 8;

// Window `number` of an image of `across` tokens each way, rolled by `shift` tokens.
struct RolledWindow {
  uint across;
  uint shift;
  uint number;
  uint image;

  // A token's place in the rolled image.
  uint2 place(uint token) const {
    const uint windows = across / 7;
    return uint2(number % windows, number / windows) * 7 + uint2(token % 7, token / 7);
  }
  // Where it lies.
  uint row(uint token) const {
    uint2 at = place(token) + shift;
    at = select(at, at - across, at >= across);
    return (image * across + at.y) * across + at.x;
  }
  // What part of the image a token is of: the roll has brought others beside each other.
  uint region(uint token) const {
    const uint2 at = place(token);
    const uint2 part = uint2(at >= across - 7) + uint2(at >= across - shift);
    return shift == 0 ? 0 : 3 * part.y + part.x;
  }
};

// Rows are padded, as a thread writes a row and its neighbour the next.
struct CosineMemory {
  float4 keys[kWindowTokens][kWindowQuads + 1];
  float4 values[kWindowTokens][kWindowQuads + 1];
  uint regions[kWindowTokens];
};

// What a head has of a token; quads that it does not have are left as they are.
INLINED inline void load_head(thread float4 (&to)[kWindowQuads], device const float* from,
                              uint dims) {
  UNROLLED
  for (uint i = 0; i < kWindowQuads; ++i) {
    if (4 * i < dims) {
      to[i] = load_quad(from, 4 * i, dims);
    }
  }
}

// A vector over its norm, of at least 1e-12, times `scale`.
INLINED inline void scale_to_unit(thread float4 (&v)[kWindowQuads], uint dims, float scale) {
  float4 squares = 0.0f;
  UNROLLED
  for (uint i = 0; i < kWindowQuads; ++i) {
    if (4 * i < dims) {
      squares = fma(v[i], v[i], squares);
    }
  }
  const float norm = max(precise::sqrt(total(squares)), 1e-12f);
  UNROLLED
  for (uint i = 0; i < kWindowQuads; ++i) {
    if (4 * i < dims) {
      v[i] = v[i] / norm * scale;
    }
  }
}

// `qkv` and `y` begin at the head's columns of rows of 3 * channels and of channels; `distances`
// has what is added to the logit of two tokens, 13 each way.
INLINED inline void attend_window(device const float* qkv, device float* y,
                                  device const float* distances, RolledWindow window, uint channels,
                                  uint dims, float scale, uint token,
                                  threadgroup CosineMemory& memory) {
  const bool is_token = token < kWindowTokens;
  const uint row = window.row(min(token, kWindowTokens - 1));
  device const float* own = qkv + ulong(row) * 3 * channels;
  float4 query[kWindowQuads];
  if (is_token) {
    load_head(query, own + channels, dims);
    scale_to_unit(query, dims, 1.0f);
    UNROLLED
    for (uint i = 0; i < kWindowQuads; ++i) {
      if (4 * i < dims) {
        memory.keys[token][i] = query[i];
        memory.values[token][i] = load_quad(own + 2 * channels, 4 * i, dims);
      }
    }
    memory.regions[token] = window.region(token);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (!is_token) {
    return;
  }
  load_head(query, own, dims);
  scale_to_unit(query, dims, scale);
  float4 out[kWindowQuads];
  UNROLLED
  for (uint i = 0; i < kWindowQuads; ++i) {
    out[i] = 0.0f;
  }
  float level = -INFINITY, sum = 0.0f;
  const uint region = memory.regions[token];
  device const float* distance = distances + (token / 7 + 6) * 13 + token % 7 + 6;
  for (uint key = 0; key < kWindowTokens; ++key) {
    float4 product = 0.0f;
    UNROLLED
    for (uint i = 0; i < kWindowQuads; ++i) {
      if (4 * i < dims) {
        product = fma(query[i], memory.keys[key][i], product);
      }
    }
    const float mask = memory.regions[key] == region ? 0.0f : -100.0f;
    const float logit = total(product) + distance[-int(key / 7 * 13 + key % 7)] + mask;
    const float higher = max(level, logit);
    const float shrink = precise::exp(level - higher), weight = precise::exp(logit - higher);
    sum = fma(sum, shrink, weight);
    UNROLLED
    for (uint i = 0; i < kWindowQuads; ++i) {
      if (4 * i < dims) {
        // check: allow registers a thread has a query and its result over all keys
        out[i] = fma(out[i], shrink, weight * memory.values[key][i]);
      }
    }
    level = higher;
  }
  device float* to = y + ulong(row) * channels;
  UNROLLED
  for (uint i = 0; i < kWindowQuads; ++i) {
    if (4 * i < dims) {
      store_quad(to, 4 * i, dims, out[i] / sum);
    }
  }
}

// Distance number `place` of 13 x 13 through a network of 512 units, which all heads share: 16
// times the sigmoid of their sum for each head, into `distances` (heads, 169), by a SIMD-group.
inline void store_distances(device const float* weight_0, device const float* bias_0,
                            device const float* weight_2, device float* distances, uint heads,
                            uint place, uint lane) {
  const float2 apart = float2(place / 13, place % 13) - 6.0f;
  const float2 at = sign(apart) * precise::log2(abs(apart) * (8.0f / 6.0f) + 1.0f) / 3.0f;
  float units[16];
  UNROLLED
  for (uint i = 0; i < 16; ++i) {
    const uint unit = lane + 32 * i;
    units[i] =
        Relu()(fma(at.x, weight_0[2 * unit], fma(at.y, weight_0[2 * unit + 1], bias_0[unit])));
  }
  for (uint head = 0; head < heads; ++head) {
    float sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < 16; ++i) {
      sum = fma(units[i], weight_2[head * 512 + lane + 32 * i], sum);
    }
    sum = simd_sum(sum);
    if (lane == 0) {
      distances[head * 169 + place] = 16.0f * Sigmoid()(sum);
    }
  }
}

}  // namespace metalbench
