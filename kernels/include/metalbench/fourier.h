// Fourier transforms of rows whose length is known when compiling and has no prime factor but 2, 3
// and 5: Stockham's form, whose results come in order without a permutation by bits. A row goes
// through threadgroup memory once for each factor, fours first. Roots of unity are made once a
// threadgroup, which then has several rows for them.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/reduce.h"

namespace metalbench {

using namespace metal;

inline float2 times(float2 a, float2 b) {
  return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// With one buffer a step has two barriers and a thread has its numbers in registers between them;
// with two it has one. Two buffers and the roots of 1024 numbers are 24 KiB, so a core with 32 KiB
// runs one threadgroup, which waits at barriers. BUFFERS is the tunable of kernels with long rows: 1
// on Apple's GPUs, 2 where barriers cost more than memory does. Without it there are two.
#ifdef BUFFERS
constant constexpr uint kFourierBuffers = BUFFERS;
#else
constant constexpr uint kFourierBuffers = 2;
#endif

// Transforms of N / Every numbers, Every of them beside each other, need every Every-th root only.
template <uint N, uint Every = 1>
struct FourierMemory {
  float2 rows[kFourierBuffers][N];
  float2 roots[N / Every];  // exp(-2 pi i k / N), k a multiple of Every
};

// The factor that a transform of n numbers begins with.
constexpr uint factor_of(uint n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 5; }

// -i times a number.
inline float2 turned_back(float2 v) { return float2(v.y, -v.x); }

// Transforms of Factor numbers. Sums and differences of numbers whose roots are conjugate share
// products.
template <uint Factor>
struct Butterfly;

template <>
struct Butterfly<2> {
  static void transform(thread float2 (&v)[2]) {
    const float2 first = v[0];
    v[0] = first + v[1];
    v[1] = first - v[1];
  }
};

template <>
struct Butterfly<3> {
  static void transform(thread float2 (&v)[3]) {
    const float2 sum = v[1] + v[2], turned = 0.866025404f * turned_back(v[1] - v[2]);
    const float2 rest = fma(-0.5f, sum, v[0]);
    v[0] += sum;
    v[1] = rest + turned;
    v[2] = rest - turned;
  }
};

template <>
struct Butterfly<4> {
  static void transform(thread float2 (&v)[4]) {
    const float2 even = v[0] + v[2], odd = v[0] - v[2];
    const float2 sum = v[1] + v[3], turned = turned_back(v[1] - v[3]);
    v[0] = even + sum;
    v[1] = odd + turned;
    v[2] = even - sum;
    v[3] = odd - turned;
  }
};

template <>
struct Butterfly<5> {
  static void transform(thread float2 (&v)[5]) {
    // Of one and of two fifths of a turn.
    constexpr float cos1 = 0.309016994f, cos2 = -0.809016994f;
    constexpr float sin1 = 0.951056516f, sin2 = 0.587785252f;
    const float2 outer = v[1] + v[4], inner = v[2] + v[3];
    const float2 across = turned_back(v[1] - v[4]), within = turned_back(v[2] - v[3]);
    const float2 first = fma(cos1, outer, fma(cos2, inner, v[0]));
    const float2 second = fma(cos2, outer, fma(cos1, inner, v[0]));
    const float2 first_turned = fma(sin1, across, sin2 * within);
    const float2 second_turned = fma(sin2, across, -sin1 * within);
    v[0] += outer + inner;
    v[1] = first + first_turned;
    v[2] = second + second_turned;
    v[3] = second - second_turned;
    v[4] = first - first_turned;
  }
};

// What is left to do where transforms of Left numbers lie Stride apart.
template <uint N, uint Left, uint Stride, uint Threads>
struct FourierSteps {
  static constant constexpr uint kFactor = factor_of(Left);
  static constant constexpr uint kPart = Left / kFactor;
  static constant constexpr uint kCount = kPart * Stride;
  // How many transforms of Factor numbers a thread has.
  static constant constexpr uint kOwn = (kCount + Threads - 1) / Threads;

  // Returns which of the buffers has the result in the end.
  template <uint Every>
  static uint transform(threadgroup FourierMemory<N, Every>& memory, uint from, uint thread_index) {
    const uint to = kFourierBuffers > 1 ? 1 - from : from;
    if (kFourierBuffers > 1) {
      for (uint i = thread_index; i < kCount; i += Threads) {
        float2 v[kFactor];
        take(v, memory, from, i);
        put(v, memory, to, i);
      }
    } else {
      float2 own[kOwn][kFactor];
      UNROLLED
      for (uint n = 0; n < kOwn; ++n) {
        if (has(n, thread_index)) {
          take(own[n], memory, from, thread_index + n * Threads);
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      UNROLLED
      for (uint n = 0; n < kOwn; ++n) {
        if (has(n, thread_index)) {
          put(own[n], memory, to, thread_index + n * Threads);
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return FourierSteps<N, kPart, Stride * kFactor, Threads>::transform(memory, to, thread_index);
  }

  static bool has(uint n, uint thread_index) {
    return kCount % Threads == 0 || thread_index + n * Threads < kCount;
  }

  // The i-th transform of Factor numbers.
  template <uint Every>
  INLINED static void take(thread float2 (&v)[kFactor],
                           threadgroup const FourierMemory<N, Every>& memory, uint from, uint i) {
    UNROLLED
    for (uint j = 0; j < kFactor; ++j) {
      // check: allow registers threadgroup memory leaves room for fewer threads than registers do
      v[j] = memory.rows[from][i + j * kCount];
    }
    // check: allow registers threadgroup memory leaves room for fewer threads than registers do
    Butterfly<kFactor>::transform(v);
  }

  // Its results, times roots, to their places.
  template <uint Every>
  INLINED static void put(thread const float2 (&v)[kFactor],
                          threadgroup FourierMemory<N, Every>& memory, uint to, uint i) {
    static_assert(Stride % Every == 0, "there is a root of each number");
    const uint q = i % Stride, p = i / Stride;
    UNROLLED
    for (uint j = 0; j < kFactor; ++j) {
      const float2 root = memory.roots[p * j * (Stride / Every)];
      memory.rows[to][q + Stride * (kFactor * p + j)] = j ? times(v[j], root) : v[j];
    }
  }
};

template <uint N, uint Stride, uint Threads>
struct FourierSteps<N, 1, Stride, Threads> {
  template <uint Every>
  static uint transform(threadgroup FourierMemory<N, Every>&, uint from, uint) {
    return from;
  }
};

template <uint N, uint Threads, uint Every>
inline void make_roots(threadgroup FourierMemory<N, Every>& memory, uint thread_index) {
  for (uint k = thread_index; k < N / Every; k += Threads) {
    const float angle = 6.283185307f * float(k * Every) / float(N);
    memory.roots[k] = float2(precise::cos(angle), -precise::sin(angle));
  }
}

// The transform of memory.rows[0], behind a barrier that this begins with; which of the
// buffers has it in the end. All threads may read it then.
template <uint N, uint Threads>
inline uint transform(threadgroup FourierMemory<N>& memory, uint thread_index) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return FourierSteps<N, N, 1, Threads>::transform(memory, 0, thread_index);
}

}  // namespace metalbench
