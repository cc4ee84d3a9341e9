#include "control.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#include <vector>

#include "call_cost.h"
#include "language_version.h"
#include "foundation/qos.h"
#include "runtime/live_objects.h"

namespace metal_double {
namespace {

constexpr auto switch_count = static_cast<std::size_t>(Switch::count_of_switches);
constexpr auto count_count = static_cast<std::size_t>(Count::count_of_counts);
constexpr double default_watchdog_s = 4;
constexpr double default_os_major = 15;

constexpr std::array<std::string_view, switch_count> switch_names = {
    "fail_compile",
    "fail_pipeline",
    "out_of_memory",
    "hang_command_buffer",
    "fail_command_buffer_count",
    "fail_command_buffer",
    "foreign_errors",
    "fail_archive_load",
    "fail_archive_write",
    "fail_capture",
    "lose_capture",
    "no_capture",
    "no_counters",
    "zero_counters",
    "error_counters",
    "reversed_counters",
    "zero_gpu_time",
    "reversed_gpu_time",
    "no_residency",
    "no_device",
    "no_queue",
    "no_encoder",
    "no_sampler",
    "gpu_family",
    "hide_unused",
    "max_threads",
    "no_engine",
    "latency_in_ns",
    "latency_out_ns",
    "command_buffer_ns",
    "encoder_ns",
    "fence_ns",
    "residency_ns",
    "idle_after_ns",
    "idle_slowdown",
    "ramp_ns",
    "mlx_host_ns",
    "low_power",
    "thermal_state",
    "watchdog_s",
    "os_major",
};

constexpr std::array<std::string_view, count_count> count_names = {
    "dispatches",
    "commits",
    "command_buffers",
    "metal4_command_buffers",
    "compiles",
    "pipelines",
    "archive_hits",
    "encoder_calls",
    "resident_allocations",
    "captures",
    "wakeful_activities",
    "violations",
};

// Never destroyed: the worker threads may outlive the program's end.
struct State {
  std::array<std::atomic<double>, switch_count> switches{};
  std::array<std::atomic<double>, count_count> counts{};
  std::mutex mutex;
  std::condition_variable was_reset;
  std::uint64_t resets = 0;
  std::vector<std::string> violations;

  State() { rest(); }
  // Latencies may be asked for in all of a run.
  void rest() {
    for (auto& one : switches) one = 0;
    at(Switch::watchdog_s) = default_watchdog_s;
    at(Switch::os_major) = default_os_major;
    const char* const latency_ns = std::getenv("METAL_DOUBLE_LATENCY_NS");
    if (latency_ns == nullptr) return;
    at(Switch::latency_in_ns) = std::atof(latency_ns);
    at(Switch::latency_out_ns) = std::atof(latency_ns);
  }
  std::atomic<double>& at(Switch which) { return switches[static_cast<std::size_t>(which)]; }
};

State& state() {
  static State& only = *new State;
  return only;
}

template <std::size_t n>
std::size_t position(const std::array<std::string_view, n>& names, std::string_view name) {
  std::size_t i = 0;
  while (i < n && names[i] != name) ++i;
  return i;
}

}  // namespace

double value(Switch which) { return state().at(which).load(std::memory_order_relaxed); }

bool take(Switch which) {
  std::atomic<double>& left = state().at(which);
  double now = left.load();
  while (now >= 1) {
    if (left.compare_exchange_weak(now, now - 1)) return true;
  }
  return false;
}

int take_command_buffer_error() {
  const int code = static_cast<int>(value(Switch::fail_command_buffer));
  if (code != 0 && !take(Switch::fail_command_buffer_count)) {
    state().at(Switch::fail_command_buffer) = 0;
  } else if (code != 0 && value(Switch::fail_command_buffer_count) < 1) {
    state().at(Switch::fail_command_buffer) = 0;
  }
  return code;
}

void count(Count what, double by) {
  state().counts[static_cast<std::size_t>(what)].fetch_add(by, std::memory_order_relaxed);
}

void violation(const std::string& text) {
  std::fprintf(stderr, "metal double: %s\n", text.c_str());
  count(Count::violations);
  const std::scoped_lock lock(state().mutex);
  state().violations.push_back(text);
}

void wait_for_reset() {
  std::unique_lock lock(state().mutex);
  const std::uint64_t now = state().resets;
  state().was_reset.wait(lock, [now] { return state().resets != now; });
}

}  // namespace metal_double

using namespace metal_double;

void metal_double_set(const char* name, double value) {
  const std::size_t which = position(switch_names, name);
  if (which == switch_count) {
    violation(std::string("metal_double_set: no switch is called ") + name);
  } else {
    state().switches[which] = value;
  }
}

double metal_double_get(const char* name) {
  const std::size_t which = position(switch_names, name);
  if (which != switch_count) return state().switches[which];
  const std::size_t what = position(count_names, name);
  if (what != count_count) return state().counts[what];
  if (std::string_view(name) == "live_objects") return static_cast<double>(live_object_count());
  if (std::string_view(name) == "call_ns") return encoder_call_ns();
  if (std::string_view(name) == "qos_class") return qos_class();
  if (std::string_view(name) == "language_version") return last_language_version();
  if (std::string_view(name) == "math_mode") return last_math_mode();
  return std::numeric_limits<double>::quiet_NaN();
}

const char* metal_double_text(const char* name) {
  thread_local std::string text;
  text.clear();
  if (std::string_view(name) == "live_objects") {
    text = live_objects_text();
  } else {
    const std::scoped_lock lock(state().mutex);
    for (const std::string& violation : state().violations) text += violation + "\n";
  }
  return text.c_str();
}

void metal_double_reset() {
  const std::scoped_lock lock(state().mutex);
  state().rest();
  for (std::size_t i = 0; i < count_count; ++i) {
    const auto what = static_cast<Count>(i);
    const bool is_now = what == Count::resident_allocations || what == Count::wakeful_activities;
    if (!is_now) state().counts[i] = 0;
  }
  state().violations.clear();
  ++state().resets;
  state().was_reset.notify_all();
}
