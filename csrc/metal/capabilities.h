#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"

namespace metalbench::metal {

// Atomic texture operations of a GPU: none; on one integer of 32 bits; also on pairs, as one
// integer of 64 bits.
enum class TextureAtomics : std::uint8_t { none, words, pairs };

// Capabilities of this GPU and this macOS, queried once when the device is opened.
struct Capabilities {
  std::string name;         // "Apple M4 Max"
  std::string family;       // "apple9"; "mac2" for GPUs that are not Apple's
  std::uint32_t cores = 0;  // 0 if the registry does not report it
  TextureAtomics texture_atomics = TextureAtomics::none;
  bool metal3 = false;
  bool metal4 = false;
  bool tensors = false;  // kernels may have parameters that are tensors
  bool unified_memory = false;
  std::uint64_t memory_bytes = 0;
  std::uint64_t working_set_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
  std::uint32_t max_threads_per_threadgroup = 0;
  std::uint32_t max_threadgroup_bytes = 0;
  std::vector<std::string> counter_sets;
  std::vector<std::string> sampling_points;
  bool stage_counters = false;  // timestamp counters at both encoder boundaries
  bool residency_sets = false;
  bool gpu_trace = false;  // captures can be written to a file
  std::string os_version;
  NSInteger os_major = 0;          // 15 of macOS 15.1
  std::vector<std::string> tools;  // active_tools() when the device was opened
};

// Return the environment variables that are set and change Metal's behaviour or speed.
[[nodiscard]] std::vector<std::string> active_tools();

[[nodiscard]] Capabilities probe(id<MTLDevice> device);

[[nodiscard]] Limits limits_of(const Capabilities& capabilities);
[[nodiscard]] Facts facts_of(const Capabilities& capabilities, double tick_ns);
// Return facts that may change during the process.
[[nodiscard]] Facts state_of(id<MTLDevice> device);

}  // namespace metalbench::metal
