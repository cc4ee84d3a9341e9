// What a test asks of the double, and what it learns from it. From Python, through ctypes:
// metal_double_set, metal_double_get, metal_double_text, metal_double_reset.
#pragma once

#include <cstdint>
#include <string>

namespace metal_double {

// Set by these names. Those of the first group hold for the next N calls, the rest until
// they are set again or reset.
enum class Switch : std::uint8_t {
  fail_compile,
  fail_pipeline,
  out_of_memory,
  hang_command_buffer,  // never completes, until reset
  fail_command_buffer_count,
  fail_command_buffer,  // an MTLCommandBufferError, for the next one or fail_command_buffer_count;
                        // 100 and more: the driver's errors that are MTLCommandBufferErrorInternal
  foreign_errors,       // command buffers' errors are of a domain that is not Metal's
  fail_archive_load,
  fail_archive_write,
  fail_capture,
  lose_capture,
  no_capture,
  no_counters,
  zero_counters,
  error_counters,
  reversed_counters,
  zero_gpu_time,
  reversed_gpu_time,
  no_residency,
  no_device,
  no_queue,
  no_encoder,
  no_sampler,
  gpu_family,   // the newest of Apple's that the GPU is of; 0 for 9
  hide_unused,  // reflection leaves out parameters that the kernel never uses
  max_threads,  // most threads a threadgroup of pipelines that are made now; 0 for the kernel's own
  no_engine,    // dispatches run nothing and take this many ns of GPU time
  latency_in_ns,   // from a commit to the GPU's start on it; with either of the two the host learns
  latency_out_ns,  // of an end when it is due: so long after the modelled end on the GPU
  command_buffer_ns,  // of GPU time that each command buffer takes before its work; so does
  encoder_ns,         // each encoder,
  fence_ns,           // each fence that it waits for,
  residency_ns,       // and the first command buffer of a queue that had none for a second
  idle_after_ns,      // the GPU's clock falls when it had nothing to do for so long,
  idle_slowdown,      // by this part: then work takes 1 + this part as long,
  ramp_ns,            // until the GPU was busy for so long
  mlx_host_ns,        // what the host works on each repetition of MLX's before it is committed
  low_power,
  thermal_state,
  watchdog_s,
  os_major,  // of macOS
  count_of_switches,
};

enum class Count : std::uint8_t {
  dispatches,
  commits,
  command_buffers,         // that have ended,
  metal4_command_buffers,  // and those of Metal 4 among them
  compiles,
  pipelines,
  archive_hits,
  encoder_calls,
  resident_allocations,
  captures,
  wakeful_activities,  // that keep the Mac awake now
  violations,
  count_of_counts,
};

[[nodiscard]] double value(Switch which);
[[nodiscard]] inline bool is_on(Switch which) { return value(which) != 0; }
// Whether this call is one of the next N.
[[nodiscard]] bool take(Switch which);
// The error code that this command buffer shall end with, or 0.
[[nodiscard]] int take_command_buffer_error();

void count(Count what, double by = 1);
// What the API's validation would stop the program for.
void violation(const std::string& text);
// Blocks until the next metal_double_reset.
void wait_for_reset();

}  // namespace metal_double

extern "C" {
[[gnu::visibility("default")]] void metal_double_set(const char* name, double value);
// A switch, a count, `live_objects`, `call_ns`: what one encoder call costs the double,
// `qos_class`: the calling thread's, or `language_version`: of the last library. NaN for an unknown
// name.
[[gnu::visibility("default")]] double metal_double_get(const char* name);
// `violations`: one a line; `live_objects`: "class count" a line. Valid until the thread's next
// call.
[[gnu::visibility("default")]] const char* metal_double_text(const char* name);
[[gnu::visibility("default")]] void metal_double_reset();
// MLX concurrently commits command buffers of `per_buffer` repetitions each, the last one
// of what is left, to a separate queue, and waits for the last. A repetition takes `cost_ns` of
// GPU time, after the one before.
[[gnu::visibility("default")]] void metal_double_mlx(std::uint32_t repetitions,
                                                     std::uint32_t per_buffer, double cost_ns);
}
