// Counts of counted builds, and their layout in a launch's buffer. Included by the runtime and by
// lowered kernels.
#pragma once

namespace mb {

// Kind of a memory access.
enum class Counted : unsigned int { read, write, atomic };

namespace counts {

// Buffer in words of 64 bits: the head, two words for each buffer of the launch, two for each code
// segment, and a row for each site and address space. metalbench/profiling/counts.py has the same
// layout.
enum Head {
  // Input: numbers of sites and segments of the kernel, and of requested trace records.
  sites,
  segments,
  trace_capacity,
  // Output.
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
  by_threads,        // accesses of single threads
  by_simdgroups,     // accesses of SIMD-groups
  bytes,             // requested by all lanes
  transactions,      // lines of 128 bytes that a SIMD-group's access touches
  least_transactions,  // minimum of lines for the same number of distinct bytes
  bank_turns,        // threadgroup memory: 32 banks of 4 bytes, one word each per cycle
  least_bank_turns,
  contended,         // atomic: lanes with the same address as another lane
  columns,
};
// Trace record: site, threadgroup, thread in it, space << 56 | buffer << 48 | offset in bytes.
inline constexpr unsigned int trace_words = 4;

}  // namespace counts
}  // namespace mb
