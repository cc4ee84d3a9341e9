// The gated delta rule over chunks of tokens. With g the decays, G_tj their product from behind
// token j up to t and G_t that from the chunk's begin, what tokens change, d_t, solves
//   d_t + beta_t sum over j < t of G_tj (k_t k_j) d_j = beta_t (v_t - G_t S k_t),
// answers are y_t = G_t S q_t + sum over j <= t of G_tj (q_t k_j) d_j, and the state becomes
// G_C S + sum of G_Cj d_j k_j^T. Tokens past the last neither decay nor change anything.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

// Rows of the tokens of a chunk; zeros past the last token and the last column.
template <typename T>
struct Tokens {
  device const T* at;
  uint pitch;
  uint count;
  uint cols;
  float operator()(uint token, uint column) const {
    return token < count && column < cols ? float(at[ulong(token) * pitch + column]) : 0.0f;
  }
};

template <typename T>
inline float dot_of(Tokens<T> a, uint i, Tokens<T> b, uint j) {
  device const T* one = a.at + ulong(i) * a.pitch;
  device const T* other = b.at + ulong(j) * b.pitch;
  float4 sums = 0.0f;
  for (uint column = 0; column < a.cols; column += 4) {
    sums = fma(load_quad(one, column, a.cols), load_quad(other, column, a.cols), sums);
  }
  return total(sums);
}

template <uint Chunk>
struct ChunkGates {
  float decay[Chunk];
  float beta[Chunk];
  float from_start[Chunk];
  float to_end[Chunk];
  float system[Chunk][Chunk];  // below the diagonal, which is 1

  // Of tokens `step` apart.
  template <typename T>
  void load(device const T* decays, device const T* betas, uint step, uint count,
            uint thread_index) threadgroup {
    const uint t = thread_index;
    if (t < Chunk) {
      // check: allow strided-access a token has the decays of all heads, of which this is one
      decay[t] = t < count ? float(decays[t * step]) : 1.0f;
      // check: allow strided-access as above
      beta[t] = t < count ? float(betas[t * step]) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < Chunk) {
      from_start[t] = between(0, t + 1);
      to_end[t] = between(t + 1, Chunk);
    }
  }

  // The product of decays begin .. end - 1.
  float between(uint begin, uint end) const threadgroup {
    float product = 1.0f;
    for (uint i = begin; i < end; ++i) {
      product *= decay[i];
    }
    return product;
  }

  // One coefficient of the system, and what token t's answer has of the change at j.
  template <typename T>
  float relate(Tokens<T> keys, Tokens<T> queries, uint t, uint j) threadgroup {
    if (j > t || t >= keys.count) {
      system[t][j] = 0.0f;
      return 0.0f;
    }
    const float product = between(j + 1, t + 1);
    system[t][j] = beta[t] * product * dot_of(keys, t, keys, j);
    return product * dot_of(queries, t, keys, j);
  }

  // Forward substitution for one column, whose results go to rows `pitch` apart.
  void solve(thread float (&x)[Chunk], device float* to, uint pitch) const threadgroup {
    UNROLLED
    for (uint t = 0; t < Chunk; ++t) {
      UNROLLED
      for (uint j = 0; j < t; ++j) {
        x[t] = fma(-system[t][j], x[j], x[t]);
      }
      to[ulong(t) * pitch] = x[t];
    }
  }
};

// Of a chunk, in rows of `wide` columns: keys as solved for (negative), and scaled ones.
struct ChunkRows {
  device const float* w;
  device const float* queries;
  device const float* keys;
  uint wide;
};

// Rows of a state in threadgroup memory, of up to 256 columns; a SIMD-group has 8 tokens by 8 rows
// of what is asked, and its part of the state's tiles.
template <uint Chunk, uint Rows>
struct ChunkedState {
  static constant constexpr uint kPitch = 260;
  static constant constexpr uint kThreads = Chunk * Rows / 2;
  static constant constexpr uint kAcross = Rows / 8;
  struct Memory {
    float state[Rows * kPitch];
    float changes[Chunk * Rows];
    float answers[Chunk * Rows];
  };

  static void load(threadgroup Memory& memory, device const float* state, uint rows, uint cols,
                   uint thread_index) {
    for (uint i = thread_index; i < Rows * kPitch; i += kThreads) {
      const uint row = i / kPitch, column = i % kPitch;
      memory.state[i] = row < rows && column < cols ? state[ulong(row) * cols + column] : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  // One chunk: leaves answers, and all threads behind a barrier.
  static void pass(threadgroup Memory& memory, ChunkRows of, device const float* u, uint pitch,
                   device const float* within, float kept, uint simdgroup) {
    const uint token = simdgroup / kAcross * 8, row = simdgroup % kAcross * 8;
    // Summed in two chains, apart from what they are added to: errors are those of smaller sums.
    simdgroup_float8x8 change, answer = make_filled_simdgroup_matrix<float, 8, 8>(0.0f), a, b;
    simdgroup_float8x8 said = answer, rest = answer, next;
    simdgroup_load(change, u + ulong(token) * pitch + row, pitch);
    for (uint c = 0; c < of.wide; c += 8) {
      simdgroup_load(b, memory.state + row * kPitch + c, kPitch, ulong2(0, 0), true);
      simdgroup_load(a, of.w + ulong(token) * of.wide + c, of.wide);
      simdgroup_multiply_accumulate(next, a, b, said);
      said = rest;
      rest = next;
      simdgroup_load(a, of.queries + ulong(token) * of.wide + c, of.wide);
      simdgroup_multiply_accumulate(answer, a, b, answer);
    }
    change.thread_elements() += said.thread_elements() + rest.thread_elements();
    simdgroup_store(change, memory.changes + token * Rows + row, Rows);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j <= token; j += 8) {
      simdgroup_load(a, within + token * Chunk + j, Chunk);
      simdgroup_load(b, memory.changes + j * Rows + row, Rows);
      simdgroup_multiply_accumulate(answer, a, b, answer);
    }
    simdgroup_store(answer, memory.answers + token * Rows + row, Rows);
    add(memory, of, kept, simdgroup);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  static void add(threadgroup Memory& memory, ChunkRows of, float kept, uint simdgroup) {
    const simdgroup_float8x8 scale = simdgroup_float8x8(kept);
    for (uint tile = simdgroup; tile < kAcross * of.wide / 8; tile += kThreads / 32) {
      const uint row = tile % kAcross * 8, column = tile / kAcross * 8;
      threadgroup float* at = memory.state + row * kPitch + column;
      simdgroup_float8x8 sum, a, b;
      simdgroup_load(b, at, kPitch);
      simdgroup_multiply(sum, scale, b);
      for (uint j = 0; j < Chunk; j += 8) {
        simdgroup_load(a, memory.changes + j * Rows + row, Rows, ulong2(0, 0), true);
        simdgroup_load(b, of.keys + ulong(j) * of.wide + column, of.wide);
        simdgroup_multiply_accumulate(sum, a, b, sum);
      }
      simdgroup_store(sum, at, kPitch);
    }
  }
};

}  // namespace metalbench
