// A slot of a hash table is claimed with an atomic, its value is written without one and read by threads that find the key.
// tune: BUG = 1, 0
// value: n = 256
// value: slots = 64
// buffer: keys uint32 (n) integers 1 20
// buffer: table uint32 (slots) zeros inout
// buffer: values uint32 (slots) zeros inout
// buffer: y uint32 (n) output
// dispatch: insert threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void insert(device const uint* keys, device atomic_uint* table, device uint* values,
                   device uint* y, constant uint& slots, uint i [[thread_position_in_grid]]) {
  uint key = keys[i];
  uint slot = (key * 2654435761u) % slots;
  while (true) {
    uint found = 0;
    if (atomic_compare_exchange_weak_explicit(&table[slot], &found, key, memory_order_relaxed,
                                              memory_order_relaxed)) {
      values[slot] = key * key;
      y[i] = key * key;
      return;
    }
    if (found == key) {
      y[i] = BUG ? values[slot] : key * key;  // bug: race
      return;
    }
    if (found != 0) slot = (slot + 1) % slots;
  }
}
