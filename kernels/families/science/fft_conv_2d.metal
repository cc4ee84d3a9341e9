// Convolutions of images with one large filter by Fourier transforms in the plane, in which a product of
// spectra takes the place of a sum over 33 x 33 taps. Images of 96 x 96 and the filter's reach are 128
// x 128, so that nothing wraps round. Filter and images are real: two images are transformed as one
// complex image, which the product with the filter's spectrum does not mix. Columns go to the
// spectrum, are multiplied and come back in one dispatch, and rows of zeros are neither stored nor
// transformed (metalbench/fourier.h).
// check: allow few-threadgroups the filter has 33 rows, and is transformed once for all images
// dispatch: filter_rows  threadgroups=(5)  threads=(256)
// dispatch: filter_columns  threadgroups=(16)  threads=(TG)
// dispatch: image_rows  threadgroups=(12, ceil_div(batch, 2))  threads=(256, 1)
// dispatch: convolve_columns  threadgroups=(16, ceil_div(batch, 2))  threads=(TG, 1)
// dispatch: back_rows  threadgroups=(12, ceil_div(batch, 2))  threads=(256, 1)
// scratch: filter float32 (33, 128, 2)
// scratch: spectrum float32 (128, 128, 2)
// scratch: half_way float32 (ceil_div(batch, 2), 96, 128, 2)
// tune: TG = 256, 128, 64
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 64, BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32
// limits: side == 96, taps == 33
#include "metalbench/fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint SIDE = 128, IMAGE = 96, TAPS = 33;
constant constexpr uint WIDE = 8;  // columns of a strip
constant constexpr uint STRIP = SIDE * WIDE;
constant constexpr uint SIMDGROUPS = 8;

using RowMemory = FourierMemory<SIDE>;
using StripMemory = FourierMemory<STRIP, WIDE>;

static float2 conjugate_of(float2 v) { return float2(v.x, -v.y); }

// Element i of a strip of columns of a matrix with 128 columns.
static uint place_in(uint strip, uint i) { return i / WIDE * SIDE + strip * WIDE + i % WIDE; }

// Loads a strip of the columns of a matrix of `rows` rows, the others being zero, and transforms it.
static uint transform_strip(device const float2* matrix, uint rows, uint strip,
                            threadgroup StripMemory& memory, uint thread_index) {
  make_roots<STRIP, TG>(memory, thread_index);
  for (uint i = thread_index; i < STRIP; i += TG) {
    float2 value = 0.0f;
    if (i / WIDE < rows) {
      value = matrix[place_in(strip, i)];
    }
    memory.rows[0][i] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return FourierSteps<STRIP, SIDE, WIDE, TG>::transform(memory, 0, thread_index);
}

[[kernel]] void filter_rows(device const float* w, device float* filter,
                            uint group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowMemory memories[SIMDGROUPS];
  threadgroup RowMemory& memory = memories[simdgroup];
  make_roots<SIDE, 32>(memory, lane);
  const uint row = group * SIMDGROUPS + simdgroup;
  for (uint k = lane; k < SIDE; k += 32) {
    memory.rows[0][k] = row < TAPS && k < TAPS ? float2(w[row * TAPS + k], 0.0f) : float2(0.0f);
  }
  const uint found = transform<SIDE, 32>(memory, lane);
  for (uint k = lane; k < SIDE && row < TAPS; k += 32) {
    ((device float2*)filter)[row * SIDE + k] = memory.rows[found][k];
  }
}

[[kernel]] void filter_columns(device const float* filter, device float* spectrum,
                               uint strip [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup StripMemory memory;
  device const float2* rows = (device const float2*)filter;
  const uint found = transform_strip(rows, TAPS, strip, memory, thread_index);
  for (uint i = thread_index; i < STRIP; i += TG) {
    // What both transforms back lack.
    const float2 value = memory.rows[found][i] * (1.0f / (SIDE * SIDE));
    ((device float2*)spectrum)[place_in(strip, i)] = value;
  }
}

[[kernel]] void image_rows(device const float* x, device float* half_way, constant uint& batch,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowMemory memories[SIMDGROUPS];
  threadgroup RowMemory& memory = memories[simdgroup];
  make_roots<SIDE, 32>(memory, lane);
  const uint row = group.x * SIMDGROUPS + simdgroup;
  const bool has_second = 2 * group.y + 1 < batch;
  device const float* first = x + (ulong(2 * group.y) * IMAGE + row) * IMAGE;
  device const float* second = first + (has_second ? IMAGE * IMAGE : 0);
  for (uint k = lane; k < SIDE; k += 32) {
    float2 value = 0.0f;
    if (k < IMAGE) {
      const float other = second[k];
      value = float2(first[k], has_second ? other : 0.0f);
    }
    memory.rows[0][k] = value;
  }
  const uint found = transform<SIDE, 32>(memory, lane);
  device float2* to = (device float2*)half_way + (ulong(group.y) * IMAGE + row) * SIDE;
  for (uint k = lane; k < SIDE; k += 32) {
    to[k] = memory.rows[found][k];
  }
}

// Of the result only the rows of the image are kept, half a filter below the first.
[[kernel]] void convolve_columns(device float* half_way, device const float* spectrum,
                                 uint2 group [[threadgroup_position_in_grid]],
                                 uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup StripMemory memory;
  device float2* image = (device float2*)half_way + ulong(group.y) * IMAGE * SIDE;
  const uint found = transform_strip(image, IMAGE, group.x, memory, thread_index);
  float2 own[STRIP / TG];
  UNROLLED
  for (uint n = 0; n < STRIP / TG; ++n) {
    const uint i = thread_index + n * TG;
    const float2 factor = ((device const float2*)spectrum)[place_in(group.x, i)];
    own[n] = times(memory.rows[found][i], factor);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  UNROLLED
  for (uint n = 0; n < STRIP / TG; ++n) {
    memory.rows[0][thread_index + n * TG] = conjugate_of(own[n]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint last = FourierSteps<STRIP, SIDE, WIDE, TG>::transform(memory, 0, thread_index);
  for (uint i = thread_index; i < IMAGE * WIDE; i += TG) {
    image[place_in(group.x, i)] = memory.rows[last][i + TAPS / 2 * WIDE];
  }
}

// The conjugates of rows of the spectrum, whose transforms are the conjugates of two images.
[[kernel]] void back_rows(device const float* half_way, device float* y, constant uint& batch,
                          uint2 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowMemory memories[SIMDGROUPS];
  threadgroup RowMemory& memory = memories[simdgroup];
  make_roots<SIDE, 32>(memory, lane);
  const uint row = group.x * SIMDGROUPS + simdgroup;
  device const float2* from = (device const float2*)half_way + (ulong(group.y) * IMAGE + row) * SIDE;
  for (uint k = lane; k < SIDE; k += 32) {
    memory.rows[0][k] = from[k];
  }
  const uint found = transform<SIDE, 32>(memory, lane);
  device float* first = y + (ulong(2 * group.y) * IMAGE + row) * IMAGE;
  for (uint k = lane; k < IMAGE; k += 32) {
    const float2 value = memory.rows[found][k + TAPS / 2];
    first[k] = value.x;
    if (2 * group.y + 1 < batch) {
      first[IMAGE * IMAGE + k] = -value.y;
    }
  }
}
