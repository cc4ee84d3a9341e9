// Fourier transforms of images, real and imaginary parts separate: rows first, then columns, each in
// threadgroup memory (metalbench/fourier.h). A SIMD-group has a row, one after the other. Of columns
// a threadgroup has a strip, so that memory is read in whole sectors: they lie beside each other as
// transforms do after a first step, and go on from there.
// dispatch: rows_of_images  threadgroups=(batch * side / 8 / ROWS)  threads=(256)
// dispatch: columns_of_images  threadgroups=(16 / STRIPS, batch)  threads=(TG)
// scratch: half_way float32 (batch, side, side, 2)
// tune: ROWS = 4, 1, 2, 8
// tune: STRIPS = 4, 1, 2, 8
// tune: TG = 256, 32, 64, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32
// limits: side == 128
#include "metalbench/fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint SIDE = 128;
constant constexpr uint WIDE = 8;  // columns of a strip
constant constexpr uint SIMDGROUPS = 8;

[[kernel]] void rows_of_images(device const float* re, device const float* im,
                               device float* half_way, uint group [[threadgroup_position_in_grid]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup FourierMemory<SIDE> memories[SIMDGROUPS];
  threadgroup FourierMemory<SIDE>& memory = memories[simdgroup];
  make_roots<SIDE, 32>(memory, lane);
  for (uint i = 0; i < ROWS; ++i) {
    const ulong start = ulong((group * ROWS + i) * SIMDGROUPS + simdgroup) * SIDE;
    for (uint k = lane; k < SIDE; k += 32) {
      memory.rows[0][k] = float2(re[start + k], im[start + k]);
    }
    const uint last = transform<SIDE, 32>(memory, lane);
    for (uint k = lane; k < SIDE; k += 32) {
      ((device float2*)half_way)[start + k] = memory.rows[last][k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

[[kernel]] void columns_of_images(device const float* half_way, device float* y_re,
                                  device float* y_im, uint2 group [[threadgroup_position_in_grid]],
                                  uint thread_index [[thread_index_in_threadgroup]]) {
  constexpr uint count = SIDE * WIDE;
  threadgroup FourierMemory<count, WIDE> memory;
  make_roots<count, TG>(memory, thread_index);
  const ulong image = ulong(group.y) * SIDE * SIDE;
  for (uint strip = group.x * STRIPS; strip < (group.x + 1) * STRIPS; ++strip) {
    for (uint i = thread_index; i < count; i += TG) {
      const ulong at = image + i / WIDE * SIDE + strip * WIDE + i % WIDE;
      memory.rows[0][i] = ((device const float2*)half_way)[at];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint last = FourierSteps<count, SIDE, WIDE, TG>::transform(memory, 0, thread_index);
    for (uint i = thread_index; i < count; i += TG) {
      const ulong at = image + i / WIDE * SIDE + strip * WIDE + i % WIDE;
      y_re[at] = memory.rows[last][i].x;
      y_im[at] = memory.rows[last][i].y;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
