// Forces and energies of particles that attract and repel each other (Lennard and Jones) in a periodic
// box, up to a cutoff. Particles are sorted by cells that are at least as wide as the cutoff, so that a
// particle meets those of 27 cells only: count them, sum the counts up, place them. Atomics decide
// about places within a cell, in any order; a SIMD-group then sorts its cell by numbers of particles,
// so that sums have one order and the same bits each time. Threads of neighbouring particles then read
// the same cells.
// dispatch: clear  threads_in_grid=((side * 9 / 20) * (side * 9 / 20) * (side * 9 / 20))  threads=(TG)
// dispatch: count  threads_in_grid=(side * side * side)  threads=(TG)
// check: allow few-threadgroups there are a few thousand cells
// dispatch: begin  threadgroups=(1)  threads=(1024)
// dispatch: place  threads_in_grid=(side * side * side)  threads=(TG)
// dispatch: sort_cells  threads_in_grid=(32 * (side * 9 / 20) * (side * 9 / 20) * (side * 9 / 20))  threads=(TG)
// dispatch: interact  threads_in_grid=(side * side * side)  threads=(TG)
// scratch: counts uint32 ((side * 9 / 20) * (side * 9 / 20) * (side * 9 / 20))
// scratch: starts uint32 ((side * 9 / 20) * (side * 9 / 20) * (side * 9 / 20) + 1)
// scratch: order uint32 (side * side * side)
// scratch: sorted float32 (side * side * side, 4)
// scratch: numbers uint32 (side * side * side)
// tune: TG = 64, 128, 256
// dtypes: float32
// limits: 7 <= side, side <= 128
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr float SPACING = 1.125f;  // the box has this for each particle of an edge
constant constexpr float CUTOFF = 2.5f;

struct Cells {
  float box;
  int count;  // on an edge

  explicit Cells(uint side) : box(SPACING * float(side)), count(int(side * 9 / 20)) {}

  int3 find(float3 position) const {
    return clamp(int3(position * (float(count) / box)), 0, count - 1);
  }
  uint number(int3 cell) const { return uint((cell.z * count + cell.y) * count + cell.x); }
  uint total() const { return uint(count * count * count); }
};

[[kernel]] void clear(device uint* counts, uint cell [[thread_position_in_grid]]) {
  counts[cell] = 0;
}

[[kernel]] void count(device const packed_float3* position, device atomic_uint* counts,
                      constant uint& side, uint i [[thread_position_in_grid]]) {
  const Cells cells(side);
  const uint cell = cells.number(cells.find(position[i]));
  atomic_fetch_add_explicit(&counts[cell], 1u, memory_order_relaxed);
}

// Where each cell begins; `counts` is then the next free place of each.
[[kernel, max_total_threads_per_threadgroup(1024)]] void begin(
    device uint* counts, device uint* starts, constant uint& side,
    uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint sums[32];
  const uint total = Cells(side).total();
  uint before = 0;
  for (uint first = 0; first < total; first += 1024) {
    const uint cell = first + thread_index;
    const uint own = cell < total ? counts[cell] : 0u;
    const uint place = simd_prefix_exclusive_sum(own);
    if (lane == 31) {
      sums[simdgroup] = place + own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint sum = sums[lane];
    const uint of_simdgroups = simd_prefix_exclusive_sum(sum);
    const uint start = before + simd_broadcast(of_simdgroups, ushort(simdgroup)) + place;
    before += simd_sum(sum);
    if (cell < total) {
      starts[cell] = start;
      counts[cell] = start;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (thread_index == 0) {
    starts[total] = before;
  }
}

[[kernel]] void place(device const packed_float3* position, device atomic_uint* counts,
                      device uint* order, constant uint& side, uint i [[thread_position_in_grid]]) {
  const Cells cells(side);
  const uint cell = cells.number(cells.find(position[i]));
  order[atomic_fetch_add_explicit(&counts[cell], 1u, memory_order_relaxed)] = i;
}

[[kernel]] void sort_cells(device const packed_float3* position, device const uint* starts,
                           device const uint* order, device float4* sorted, device uint* numbers,
                           uint thread_index [[thread_position_in_grid]]) {
  const uint cell = thread_index / 32, lane = thread_index % 32;
  const uint start = starts[cell], end = starts[cell + 1];
  for (uint i = start + lane; i < end; i += 32) {
    const uint own = order[i];
    uint to = start;
    for (uint k = start; k < end; ++k) {
      to += order[k] < own ? 1 : 0;
    }
    sorted[to] = float4(float3(position[own]), 0.0f);
    numbers[to] = own;
  }
}

// Adds force and energy from another particle `away` from a particle. Both are shifted so that they
// are zero at the cutoff, which rounding errors may then move.
INLINED static void add_pair(thread float3& force, thread float& energy, float3 away) {
  const float square = dot(away, away);
  if (square >= CUTOFF * CUTOFF || square == 0.0f) {
    return;
  }
  // 1 / CUTOFF^6, and the force at the cutoff.
  constexpr float last = 1.0f / (CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF * CUTOFF);
  constexpr float last_force = 24.0f * (2.0f * last * last - last) / CUTOFF;
  const float inverse = 1.0f / square, sixth = inverse * inverse * inverse;
  const float distance = sqrt(square);
  const float strength = 24.0f * inverse * sixth * (2.0f * sixth - 1.0f) - last_force / distance;
  force -= strength * away;
  const float shifted = 4.0f * (sixth * (sixth - 1.0f) - last * (last - 1.0f));
  energy += 0.5f * (shifted + last_force * (distance - CUTOFF));
}

[[kernel]] void interact(device const uint* starts, device const float4* sorted,
                         device const uint* numbers, device packed_float3* force,
                         device float* energy, constant uint& side,
                         uint i [[thread_position_in_grid]]) {
  const Cells cells(side);
  const float3 own = sorted[i].xyz;
  const int3 cell = cells.find(own);
  float3 sum = 0.0f;
  float half_energy = 0.0f;
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        const int3 beside = cell + int3(x, y, z);
        // Beyond the box are the cells of the opposite side, a box away.
        const int3 wraps = select(int3(0), int3(1), beside >= cells.count) -
                           select(int3(0), int3(1), beside < 0);
        const uint other = cells.number(beside - wraps * cells.count);
        const float3 moved = own - cells.box * float3(wraps);
        for (uint k = starts[other]; k < starts[other + 1]; ++k) {
          add_pair(sum, half_energy, sorted[k].xyz - moved);
        }
      }
    }
  }
  force[numbers[i]] = sum;
  energy[numbers[i]] = half_energy;
}
