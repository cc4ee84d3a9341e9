// QR factors of a batch of matrices by Householder's reflections, a threadgroup each, in threadgroup
// memory. Lanes have columns, and SIMD-groups of a column every other row. One pass over the rows
// gives the products of the column to be reflected with itself, which is its length, and with all
// columns right of it; a second pass reflects these. Vectors stay where they were, and only their
// factors are stored in addition, so that Q is then computed in the same place, from the last
// reflection to the first.
// dispatch: qr  threadgroups=(batch)  threads=(TG)
// tune: TG = 256, 128, 64
// dtypes: float32
// limits: n <= 64, n <= m, m * n <= 4096
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr uint MOST = 64;  // columns

struct Memory {
  float matrix[64 * MOST];
  float parts[TG];
  float scales[MOST];   // vector k is 1 in row k, and column k times this below it
  float factors[MOST];  // the reflection is 1 - factor v v^T
};

struct Columns {
  threadgroup Memory& memory;
  uint m;
  uint n;
  uint width;   // lanes, with columns or without one
  uint column;  // of this thread
  uint part;    // it has every other row of its column, beginning with this one
  uint parts;

  // The product of column k with this column below row k, in all threads of the column; behind it
  // is a barrier.
  INLINED float multiply(uint k) const {
    float sum = 0.0f;
    if (column >= k && column < n) {
      for (uint i = k + 1 + part; i < m; i += parts) {
        sum = fma(memory.matrix[i * n + k], memory.matrix[i * n + column], sum);
      }
    }
    memory.parts[part * width + column] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = memory.parts[column];
    for (uint i = 1; i < parts; ++i) {
      sum += memory.parts[i * width + column];
    }
    return sum;
  }

  // Subtracts `by` times column k from this one below row k.
  INLINED void subtract(uint k, float by) const {
    for (uint i = k + 1 + part; i < m; i += parts) {
      const uint at = i * n + column;
      memory.matrix[at] = fma(-by, memory.matrix[i * n + k], memory.matrix[at]);
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void qr(
    device const float* a, device float* q, device float* r, constant uint& m, constant uint& n,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  // check: allow threadgroup-memory a matrix of 64 x 64 takes half of it
  threadgroup Memory memory;
  const uint width = n <= 32 ? 32 : MOST, column = thread_index % width;
  const Columns columns = {memory, m, n, width, column, thread_index / width, TG / width};
  const ulong whole = ulong(group) * m * n;
  r += ulong(group) * n * n;
  for (uint i = thread_index; i < m * n; i += TG) {
    memory.matrix[i] = a[whole + i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 0; k < n; ++k) {
    const float product = columns.multiply(k);
    // All parts of all columns have the length from the sums of column k.
    float square = 0.0f;
    for (uint i = 0; i < columns.parts; ++i) {
      square += memory.parts[i * width + k];
    }
    const float first = memory.matrix[k * n + k];
    const float length = sqrt(fma(first, first, square));
    const float reflected = square == 0.0f ? first : (first > 0.0f ? -length : length);
    const float scale = square == 0.0f ? 0.0f : 1.0f / (first - reflected);
    const float factor = square == 0.0f ? 0.0f : (reflected - first) / reflected;
    const bool is_right = column > k && column < n;
    const uint top = k * n + min(column, n - 1);
    const float along = factor * fma(scale, product, memory.matrix[top]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (is_right) {
      columns.subtract(k, along * scale);
    }
    if (columns.part == 0 && is_right) {
      memory.matrix[top] -= along;
    }
    if (thread_index == 0) {
      memory.matrix[k * n + k] = reflected;
      memory.scales[k] = scale;
      memory.factors[k] = factor;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint row = columns.part; column < n && row < n; row += columns.parts) {
    const float value = memory.matrix[row * n + column];
    r[row * n + column] = row <= column ? value : 0.0f;
  }
  // Columns right of k have zeros in row k, and column k is that of the unit matrix.
  for (uint k = n; k-- > 0;) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float scale = memory.scales[k], factor = memory.factors[k];
    const float along = factor * scale * columns.multiply(k);
    if (column > k && column < n) {
      columns.subtract(k, along * scale);
      if (columns.part == 0) {
        memory.matrix[k * n + column] = -along;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = k + thread_index; i < m; i += TG) {
      const uint at = i * n + k;
      memory.matrix[at] = i == k ? 1.0f - factor : -factor * scale * memory.matrix[at];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < m * n; i += TG) {
    q[whole + i] = memory.matrix[i];
  }
}
