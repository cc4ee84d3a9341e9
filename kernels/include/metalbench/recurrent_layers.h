// Recurrent layers over all steps in one dispatch, a threadgroup for each sequence: no step waits
// for another threadgroup. What a step takes of its input comes from a product over all steps
// before; here is the product with the state, which lies in threadgroup memory, twice, so that a
// step has one barrier. A SIMD-group has neighbouring units, 32 at a time: its lanes share the rows
// of the weights of one unit after the other, whole lines at a time, and then evaluate the gates of
// one unit each. A layer is a Cell:
//   kGates                        rows of weights of a unit, `hidden` rows apart
//   begin(unit)                   the state before the first step
//   next(step, unit, sums, h)     the state after a step, which it stores too: of the sums of
//   weights
//                                 times states, one for each gate, and the state before
#pragma once
#include "metalbench/activations.h"
#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

constant constexpr uint kMostUnits = 1024;

struct RecurrentMemory {
  float4 states[2][kMostUnits / 4];
};

// Weights (gates * hidden, hidden) in rows that are `pitch` elements apart.
struct StateWeights {
  device const float* data;
  uint hidden;
  uint pitch;
};

// The sums over the state of the units from `first` to `end`, at most 32, of which a lane gets
// those of one.
template <uint Gates, bool Whole>
INLINED void sum_states(thread float (&own)[Gates], threadgroup const float4* state, StateWeights w,
                        uint first, uint end, uint lane) {
  const ulong apart = ulong(w.hidden) * w.pitch;
  for (uint unit = first; unit < end; ++unit) {
    device const float* row = w.data + ulong(unit) * w.pitch;
    float4 sums[Gates] = {};
    for (uint column = 4 * lane; column < w.hidden; column += 128) {
      const float4 h = state[column / 4];
      UNROLLED
      for (uint gate = 0; gate < Gates; ++gate) {
        device const float* at = row + gate * apart;
        sums[gate] =
            fma(h, Whole ? quad_at(at + column, 0) : load_quad(at, column, w.hidden), sums[gate]);
      }
    }
    UNROLLED
    for (uint gate = 0; gate < Gates; ++gate) {
      const float sum = simd_sum(total(sums[gate]));
      own[gate] = lane == unit - first ? sum : own[gate];
    }
  }
}

// All steps of one sequence. Threads is the size of the threadgroup.
template <uint Threads, typename Cell>
INLINED void run_steps(Cell cell, StateWeights w, uint steps, threadgroup RecurrentMemory& memory,
                       Place place) {
  const bool is_whole = (w.hidden | w.pitch) % 4 == 0;
  const uint share = (w.hidden + Threads / 32 - 1) / (Threads / 32);
  const uint first = min(w.hidden, place.simdgroup * share);
  const uint end = min(w.hidden, first + share);
  // The last quad of a state may have columns that no unit writes.
  for (uint i = place.thread_index; i < 2 * kMostUnits; i += Threads) {
    const uint unit = i % kMostUnits;
    ((threadgroup float*)memory.states)[i] = unit == i && unit < w.hidden ? cell.begin(unit) : 0.0f;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint step = 0; step < steps; ++step) {
    threadgroup const float* before = (threadgroup const float*)memory.states[step % 2];
    threadgroup float* after = (threadgroup float*)memory.states[1 - step % 2];
    for (uint block = first; block < end; block += 32) {
      float sums[Cell::kGates] = {};
      const uint until = min(end, block + 32);
      if (is_whole) {
        sum_states<Cell::kGates, true>(sums, memory.states[step % 2], w, block, until, place.lane);
      } else {
        sum_states<Cell::kGates, false>(sums, memory.states[step % 2], w, block, until, place.lane);
      }
      const uint unit = block + place.lane;
      if (unit < until) {
        after[unit] = cell.next(step, unit, sums, before[unit]);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

}  // namespace metalbench
