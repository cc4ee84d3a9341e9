// What counted builds count, and where the sums lie in a launch's buffer of counts. Included by the
// runtime and by lowered kernels.
#pragma once

namespace mb {

// What an instruction does to memory.
enum class Counted : unsigned int { read, write, atomic };

namespace counts {

// The buffer, in words of 64 bits: the head, two words for each of the launch's buffers, two for each
// segment of code, and for each site and space a row. metalbench/profile/layout.py has the same.
enum Head {
  // In: how many sites and segments the kernel has, and how many records of a trace are wanted.
  sites,
  segments,
  trace_capacity,
  // Out.
  trace_records,
  threads,
  simdgroups,
  most_device_reads,  // of one thread
  most_device_writes,
  most_threadgroup_reads,
  most_threadgroup_writes,
  head_words = 16,
};
inline constexpr unsigned int buffers = 32;
enum Space { device, constant, threadgroup, spaces, elsewhere = spaces };
enum Column {
  by_threads,        // accesses
  by_simdgroups,     // the same, of the lanes together
  bytes,             // asked for by all lanes
  transactions,      // lines of 128 bytes that a SIMD-group's access touches
  least_transactions,  // lines that so many different bytes need
  bank_turns,        // of threadgroup memory: 32 banks of 4 bytes, each gives one word a turn
  least_bank_turns,
  contended,         // atomic: lanes that want what another lane of the access wants
  columns,
};
// Of a trace: site, threadgroup, thread in it, space << 56 | buffer << 48 | offset in bytes.
inline constexpr unsigned int trace_words = 4;

}  // namespace counts
}  // namespace mb
