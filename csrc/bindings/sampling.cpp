#include "core/sampling.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <type_traits>
#include <variant>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "core/nearest.h"

// The fields of SamplePlan as keyword arguments, for the stub.
#define PLAN_OPTIONS                                                                            \
  "max_pairs: int = 256, min_pairs: int = 16, window_ns: float = 1e6, max_window_ns: float = "  \
  "5e7, candidate_window: int = 0, reference_window: int = 0, warmup_ns: float = 2e8, "         \
  "time_limit_ns: float = 2e9, seed: int = 0, candidate_repeats: int = 1, probe_every: int = "  \
  "10, probe_drop: float = 0.03, best_probe_ns: float = 0.0, retries: int = 3, cool_ns: float " \
  "= 2e9, long_windows: int = 0"

namespace metalbench::bindings {
namespace {

using DispatchList = std::vector<const BoundDispatch*>;

std::vector<Dispatch> dispatches_of(const Device& device, const DispatchList& list) {
  std::vector<Dispatch> dispatches;
  for (const BoundDispatch* bound : list) {
    if (bound->device.get() != &device) {
      throw DispatchError("[" + bound->dispatch.pipeline->info().name +
                          "] the dispatch belongs to another device");
    }
    dispatches.push_back(bound->dispatch);
  }
  if (dispatches.empty()) throw DispatchError("dispatches: expected at least one, got none");
  return dispatches;
}

std::chrono::nanoseconds seconds(double value) {
  constexpr double longest = 1e9;  // s; what is longer is for ever
  if (!(value > 0)) {
    char got[32];  // not by Python: windows are started without the GIL
    std::snprintf(got, sizeof got, "%g", value);
    throw DispatchError("time_limit: expected seconds above 0, got " + std::string(got));
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(value, longest) * 1e9));
}

RunOptions options_of(double time_limit) {
  RunOptions options;
  options.time_limit = seconds(time_limit);
  options.interrupted = poll_signals();
  return options;
}

double run(Device& device, const DispatchList& list, double time_limit) {
  const std::unique_ptr<Program> program = device.prepare(dispatches_of(device, list));
  const RunOptions options = options_of(time_limit);
  const nb::gil_scoped_release released;
  return program->run(options).device_ns;
}

void capture(Device& device, const DispatchList& list, const std::string& path,
             std::uint32_t passes, double time_limit) {
  const std::unique_ptr<Program> program = device.prepare(dispatches_of(device, list));
  RunOptions options = options_of(time_limit);
  options.passes = passes;
  const nb::gil_scoped_release released;
  device.capture(*program, options, path);
}

Source source_of(Program& program, double time_limit) {
  const auto start = [&program, time_limit](std::uint32_t passes) {
    RunOptions options = options_of(time_limit);
    options.passes = passes;
    return program.start(options);
  };
  return {start, true};
}

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

// A Python function that runs so many passes to completion, timed on the host's clock.
Source source_of(const nb::callable& function) {
  const auto start = [function](std::uint32_t passes) -> std::unique_ptr<Running> {
    const nb::gil_scoped_acquire gil;
    const double start = now_ns();
    function(passes);
    const double elapsed = now_ns() - start;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return std::make_unique<Finished>(Timing{.device_ns = elapsed, .wall_ns = elapsed});
  };
  return {start, false};
}

// Times, shares and counts: none is negative, infinite or nothing.
template <typename T>
T option_of(const std::string& name, const nb::handle& object) {
  if constexpr (std::is_integral_v<T>) {
    const nb::object integer = integer_of(object);
    T count = 0;
    if (integer.is_valid() && nb::try_cast(integer, count)) return count;
  } else {
    double value = -1;
    const nb::object number = plain_number(nb::borrow(object));
    if (nb::isinstance<nb::float_>(number) || integer_of(number).is_valid()) {
      value = nb::cast<double>(nb::float_(number));
    }
    if (std::isfinite(value) && value >= 0) return value;
  }
  throw DispatchError("[sample] " + name + ": expected " +
                      (std::is_integral_v<T> ? "a count of 0 or more" : "a number of 0 or more") +
                      ", got " + described(object));
}

template <typename Fields>
[[noreturn]] void reject_option(const std::string& name, const Fields& fields) {
  std::vector<std::string> known;
  std::string listed;
  for (const auto& [each, field] : fields) {
    known.push_back(each);
    listed += (listed.empty() ? "" : ", ") + each;
  }
  const std::string near = did_you_mean(name, known);
  throw ArgumentTypeError("[sample] no option " + name + "; " +
                          (near.empty() ? "expected one of " + listed : near));
}

SamplePlan plan_from(const nb::kwargs& options) {
  using Field =
      std::variant<double SamplePlan::*, std::uint32_t SamplePlan::*, std::uint64_t SamplePlan::*>;
  static const std::map<std::string, Field> fields = {
      {"max_pairs", &SamplePlan::max_pairs},
      {"min_pairs", &SamplePlan::min_pairs},
      {"window_ns", &SamplePlan::window_ns},
      {"max_window_ns", &SamplePlan::max_window_ns},
      {"candidate_window", &SamplePlan::candidate_window},
      {"reference_window", &SamplePlan::reference_window},
      {"warmup_ns", &SamplePlan::warmup_ns},
      {"time_limit_ns", &SamplePlan::time_limit_ns},
      {"seed", &SamplePlan::seed},
      {"candidate_repeats", &SamplePlan::candidate_repeats},
      {"probe_every", &SamplePlan::probe_every},
      {"probe_drop", &SamplePlan::probe_drop},
      {"best_probe_ns", &SamplePlan::best_probe_ns},
      {"retries", &SamplePlan::retries},
      {"cool_ns", &SamplePlan::cool_ns},
      {"long_windows", &SamplePlan::long_windows},
      {"tick_ns", &SamplePlan::tick_ns},
  };
  SamplePlan plan;
  for (const auto& [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    const auto field = fields.find(name);
    if (field == fields.end()) reject_option(name, fields);
    std::visit([&plan, &name, object = nb::handle(value)]<typename T>(
                   T SamplePlan::* member) { plan.*member = option_of<T>(name, object); },
               field->second);
  }
  return plan;
}

std::function<void(std::uint32_t, std::uint32_t)> progress_of(const nb::object& progress) {
  if (progress.is_none()) return {};
  return [progress](std::uint32_t done, std::uint32_t total) {
    const nb::gil_scoped_acquire gil;
    progress(done, total);
  };
}

// Ends early, with the user's exception, on Ctrl-C.
void rest(double ns) {
  const InterruptPoll interrupted = poll_signals();
  const double end = now_ns() + ns;
  while (now_ns() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (interrupted()) throw Interrupted();
  }
}

struct Prepared {
  std::unique_ptr<Program> program;
  Source source;

  Prepared(std::unique_ptr<Program> made, double time_limit)
      : program(std::move(made)), source(source_of(*program, time_limit)) {}
};

Samples run_plan(Device& device, const DispatchList& list, const nb::object& reference,
                 const DispatchList& probe, double kernel_time_limit, const nb::object& progress,
                 const nb::kwargs& options) {
  const std::vector<Dispatch> dispatches = dispatches_of(device, list);
  const Prepared candidate(device.prepare(dispatches), kernel_time_limit);
  const Prepared floor(device.prepare_null(dispatches), kernel_time_limit);
  std::optional<Prepared> other;
  std::optional<Prepared> register_work;
  Sources sources;
  sources.now_ns = now_ns;
  sources.rest = rest;
  sources.candidate = candidate.source;
  sources.floor = floor.source;
  if (PyCallable_Check(reference.ptr()) != 0) {
    sources.reference = source_of(nb::cast<nb::callable>(reference));
    if (device.info().own_clock) sources.clock = Clock::wall;  // the only one that both have
  } else if (!reference.is_none()) {
    other.emplace(device.prepare(dispatches_of(device, nb::cast<DispatchList>(reference))),
                  kernel_time_limit);
    sources.reference = other->source;
  }
  if (!probe.empty()) {
    register_work.emplace(device.prepare(dispatches_of(device, probe)), kernel_time_limit);
    sources.probe = register_work->source;
  }
  sources.progress = progress_of(progress);
  SamplePlan plan = plan_from(options);
  plan.tick_ns = device.tick_ns();
  const nb::gil_scoped_release released;
  const std::shared_ptr<void> attention = device.attention();
  return sample(sources, plan);
}

// A source that tells times without taking any.
Source scripted(const nb::object& function) {
  if (function.is_none()) return {};
  const auto start = [function](std::uint32_t passes) -> std::unique_ptr<Running> {
    const double told = nb::cast<double>(function(passes));
    return std::make_unique<Finished>(Timing{.device_ns = told, .wall_ns = told});
  };
  return {start, true};
}

Samples run_script(const nb::object& candidate, const nb::object& reference,
                   const nb::object& floor, const nb::object& probe, const nb::callable& now_ns,
                   const nb::callable& rest, const nb::object& progress,
                   const nb::kwargs& options) {
  Sources sources;
  sources.candidate = scripted(candidate);
  sources.reference = scripted(reference);
  sources.floor = scripted(floor);
  sources.probe = scripted(probe);
  sources.now_ns = [now_ns] { return nb::cast<double>(now_ns()); };
  sources.rest = [rest](double ns) { rest(ns); };
  sources.progress = progress_of(progress);
  return sample(sources, plan_from(options));
}

}  // namespace

void define_sampling(nb::module_& module, nb::class_<Device>& device) {
  device.def(
      "run", &run, nb::arg("dispatches"), nb::kw_only(), nb::arg("time_limit") = 10.0,
      "Run the dispatches in order, to completion. Returns the time of one pass in ns on the\n"
      "device's clock. `time_limit` in s. Raises KernelFault, TimeLimitExceeded.");
  device.def(
      "capture", &capture, nb::arg("dispatches"), nb::arg("path"), nb::kw_only(),
      nb::arg("passes") = 1, nb::arg("time_limit") = 10.0,
      "Run the dispatches once and leave a GPU trace at `path` (FILE.gputrace) that Xcode opens.\n"
      "Raises Unsupported where it cannot be made, saying what would help.");
  device.def(
      "sample", &run_plan, nb::arg("candidate"), nb::arg("reference") = nb::none(), nb::kw_only(),
      nb::arg("probe") = DispatchList{}, nb::arg("kernel_time_limit") = 10.0,
      nb::arg("progress") = nb::none(), nb::arg("options"),
      nb::sig("def sample(self, candidate: collections.abc.Sequence[Dispatch], reference: "
              "collections.abc.Callable[[int], object] | collections.abc.Sequence[Dispatch] | None "
              "= None, *, probe: collections.abc.Sequence[Dispatch] = (), "
              "kernel_time_limit: float = 10.0, "
              "progress: collections.abc.Callable[[int, int], object] | None = None, " PLAN_OPTIONS
              ") -> Samples"),
      "Time `candidate` against `reference` in pairs, in random order within each pair, in "
      "windows\n"
      "of as many passes as make `window_ns`. `reference` is a list of dispatches, or a function\n"
      "that runs so many passes to completion. One call runs the whole plan; the GIL is held only\n"
      "within `reference` and `progress(done, total)`. `kernel_time_limit` in s ends a hang.\n"
      "`probe` is work of a fixed length in registers alone: where it takes longer than its best\n"
      "by `probe_drop`, the clock is throttled; the pairs since the last good probe are dropped,\n"
      "and sampling goes on after `cool_ns`, up to `retries` times. `candidate_repeats` says how\n"
      "often one pass of `candidate` does the work. `long_windows` of four times the passes are\n"
      "timed at the end. `candidate_window` and `reference_window` are the passes of a window "
      "where\n"
      "an earlier look has found them; then no empty windows are timed.");
  module.def(
      "sample_script", &run_script, nb::arg("candidate"), nb::arg("reference") = nb::none(),
      nb::kw_only(), nb::arg("floor") = nb::none(), nb::arg("probe") = nb::none(),
      nb::arg("now_ns"), nb::arg("rest"), nb::arg("progress") = nb::none(), nb::arg("options"),
      nb::sig("def sample_script(candidate: collections.abc.Callable[[int], float], reference: "
              "collections.abc.Callable[[int], float] | None = None, *, "
              "floor: collections.abc.Callable[[int], float] | None = None, "
              "probe: collections.abc.Callable[[int], float] | None = None, "
              "now_ns: collections.abc.Callable[[], float], "
              "rest: collections.abc.Callable[[float], object], "
              "progress: collections.abc.Callable[[int, int], object] | None = None, "
              "tick_ns: float = 1.0, " PLAN_OPTIONS ") -> Samples"),
      "What Device.sample decides, on times that functions tell for so many passes, and on a\n"
      "clock that a function tells: for tests and simulations.");
}

}  // namespace metalbench::bindings
