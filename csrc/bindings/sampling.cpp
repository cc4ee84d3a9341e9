#include "core/sampling.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/plan.h"
#include "core/errors.h"

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
  constexpr double longest = 1e9;  // s; longer limits mean no limit
  if (!(value > 0)) {
    char got[32];  // without Python, because windows are started without the GIL
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

void load(Device& device, const DispatchList& list) {
  (void)device.prepare(dispatches_of(device, list));
}

std::vector<Finding> check(Device& device, const DispatchList& list,
                           std::vector<std::string> inputs, double time_limit) {
  const std::unique_ptr<Program> program = device.prepare(dispatches_of(device, list));
  RunOptions options = options_of(time_limit);
  options.inputs = std::move(inputs);
  const nb::gil_scoped_release released;
  return program->check(options);
}

void capture(Device& device, const DispatchList& list, const std::string& path,
             std::uint32_t passes, double time_limit) {
  const std::unique_ptr<Program> program = device.prepare(dispatches_of(device, list));
  RunOptions options = options_of(time_limit);
  options.passes = passes;
  const nb::gil_scoped_release released;
  device.capture(*program, options, path);
}

WindowSource source_of(Program& program, double time_limit) {
  const auto start = [&program, time_limit](std::uint32_t passes,
                                            std::uint32_t per_command_buffer) {
    RunOptions options = options_of(time_limit);
    options.passes = passes;
    options.passes_per_command_buffer = per_command_buffer;
    return program.start(options);
  };
  return {start, true};
}

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

double wall_ns_of(const nb::callable& function, std::uint32_t passes) {
  const nb::gil_scoped_acquire gil;
  const double start = now_ns();
  function(passes);
  const double elapsed = now_ns() - start;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return elapsed;
}

// Make a source of a Python function that runs a number of passes to completion. It is timed on the
// host's clock, and by an observer on the device's clock if the device has one.
WindowSource source_of(const nb::callable& function, Device& device) {
  const std::shared_ptr<Observer> observer = device.observe();
  const bool own_clock = device.info().own_clock;
  // The function chooses its own number of command buffers.
  const auto start = [function, observer, own_clock](std::uint32_t passes, std::uint32_t) {
    if (observer != nullptr) observer->begin();
    const double wall_ns = wall_ns_of(function, passes);
    Observation seen;
    if (!own_clock) seen.device_ns = wall_ns;
    if (observer != nullptr) seen = observer->end();
    return std::make_unique<FinishedWindow>(Timing{
        .device_ns = seen.device_ns, .wall_ns = wall_ns, .command_buffers = seen.command_buffers});
  };
  return {start, false};
}

std::function<void(std::uint32_t, std::uint32_t)> progress_of(const nb::object& progress) {
  if (progress.is_none()) return {};
  return [progress](std::uint32_t done, std::uint32_t total) {
    const nb::gil_scoped_acquire gil;
    progress(done, total);
  };
}

// Rest; Ctrl-C ends it early with the user's exception.
void rest(double ns) {
  const InterruptPoll interrupted = poll_signals();
  const double end = now_ns() + ns;
  while (now_ns() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (interrupted()) throw Interrupted();
  }
}

// One side of a comparison, with its program.
struct Side {
  std::unique_ptr<Program> program;  // null for a function
  WindowSource source;

  Side() = default;
  Side(std::unique_ptr<Program> made, double time_limit)
      : program(std::move(made)), source(source_of(*program, time_limit)) {}
  explicit Side(WindowSource of_function) : source(std::move(of_function)) {}
};

bool is_function(const nb::object& work) { return PyCallable_Check(work.ptr()) != 0; }

DispatchList list_of(const nb::object& work, const char* name) {
  DispatchList list;
  if (nb::try_cast(work, list)) return list;
  throw ArgumentTypeError("[sample] " + std::string(name) +
                          ": expected dispatches, or a function that runs n passes; got " +
                          described(work));
}

Side side_of(Device& device, const nb::object& work, const char* name, double time_limit) {
  if (is_function(work)) return Side(source_of(nb::cast<nb::callable>(work), device));
  return Side(device.prepare(dispatches_of(device, list_of(work, name))), time_limit);
}

Samples run_plan(Device& device, const nb::object& candidate, const nb::object& reference,
                 const DispatchList& probe, double kernel_time_limit, const nb::object& progress,
                 const nb::kwargs& options) {
  const Side ours = side_of(device, candidate, "candidate", kernel_time_limit);
  Side theirs, floor, register_work;
  if (!reference.is_none()) theirs = side_of(device, reference, "reference", kernel_time_limit);
  if (!is_function(candidate)) {
    const std::vector<Dispatch> dispatches = dispatches_of(device, list_of(candidate, "candidate"));
    floor = Side(device.prepare_null(dispatches), kernel_time_limit);
  }
  if (!probe.empty()) {
    register_work = Side(device.prepare(dispatches_of(device, probe)), kernel_time_limit);
  }
  WindowSources sources;
  sources.now_ns = now_ns;
  sources.rest = rest;
  sources.candidate = ours.source;
  sources.reference = theirs.source;
  sources.floor = floor.source;
  sources.probe = register_work.source;
  // Functions may do work that the device's clock does not include.
  const bool any_function = is_function(candidate) || is_function(reference);
  if (any_function && device.info().own_clock) sources.clock = Clock::wall;
  sources.progress = progress_of(progress);
  SamplePlan plan = plan_from(options);
  plan.tick_ns = device.tick_ns();
  const nb::gil_scoped_release released;
  const std::shared_ptr<void> raised_qos = device.raise_thread_qos();
  for (Program* program : {ours.program.get(), theirs.program.get()}) {
    if (program != nullptr) plan.window_ns = std::max(plan.window_ns, program->least_window_ns());
  }
  ResidencyScope residency(
      {ours.program.get(), theirs.program.get(), floor.program.get(), register_work.program.get()});
  Samples samples = sample(sources, plan);
  residency.leave();
  return samples;
}

// A simulated source: its function returns one time for all clocks, or device and wall time.
WindowSource scripted(const nb::object& function) {
  if (function.is_none()) return {};
  const auto start = [function](std::uint32_t passes,
                                std::uint32_t) -> std::unique_ptr<RunningWindow> {
    const nb::object told = function(passes);
    const bool two = nb::isinstance<nb::tuple>(told);
    const double device_ns = nb::cast<double>(two ? nb::object(told[0]) : told);
    const double wall_ns = two ? nb::cast<double>(told[1]) : device_ns;
    return std::make_unique<FinishedWindow>(Timing{.device_ns = device_ns, .wall_ns = wall_ns});
  };
  return {start, true};
}

Samples run_script(const nb::object& candidate, const nb::object& reference,
                   const nb::object& floor, const nb::object& probe, const nb::callable& now_ns,
                   const nb::callable& rest, const nb::object& progress, bool by_wall,
                   const nb::kwargs& options) {
  WindowSources sources;
  if (by_wall) sources.clock = Clock::wall;
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
      "Run the dispatches in order, to completion. Return the time of one pass in ns on the\n"
      "device's clock. `time_limit` in s. Raise KernelFault, TimeLimitExceeded.");
  device.def(
      "load", &load, nb::arg("dispatches"),
      "Compile and load the code that the dispatches need, without running it: for a process that\n"
      "is sealed before they run. Raise CompileError, DispatchError.");
  device.def("check", &check, nb::arg("dispatches"), nb::kw_only(),
             nb::arg("inputs") = std::vector<std::string>{}, nb::arg("time_limit") = 10.0,
             "Run checked builds in order, continue after findings, and return all findings.\n"
             "`inputs` are arguments that they must not write to, even if their types permit it.\n"
             "Raise Unsupported on devices other than `cpu`.");
  device.def(
      "capture", &capture, nb::arg("dispatches"), nb::arg("path"), nb::kw_only(),
      nb::arg("passes") = 1, nb::arg("time_limit") = 10.0,
      "Run the dispatches once and write a GPU trace to `path` (FILE.gputrace) for Xcode. Raise\n"
      "Unsupported with a remedy where that is not possible.");
  device.def(
      "sample", &run_plan, nb::arg("candidate"), nb::arg("reference") = nb::none(), nb::kw_only(),
      nb::arg("probe") = DispatchList{}, nb::arg("kernel_time_limit") = 10.0,
      nb::arg("progress") = nb::none(), nb::arg("options"),
      nb::sig("def sample(self, candidate: collections.abc.Callable[[int], object] | "
              "collections.abc.Sequence[Dispatch], reference: "
              "collections.abc.Callable[[int], object] | collections.abc.Sequence[Dispatch] | None "
              "= None, *, probe: collections.abc.Sequence[Dispatch] = (), "
              "kernel_time_limit: float = 10.0, "
              "progress: collections.abc.Callable[[int, int], object] | None = None, " PLAN_OPTIONS
              ") -> Samples"),
      "Time `candidate` against `reference` in pairs, in random order within each pair. A window\n"
      "has enough passes to last `window_ns`. Each side is a list of dispatches, or a function\n"
      "that runs a number of passes to completion. GPU work that such a function commits, also\n"
      "through MLX, is timed on the GPU's clock and on the wall clock. One call runs the whole\n"
      "plan. The GIL is held only within functions and `progress(done, total)`.\n"
      "`kernel_time_limit` in s ends a hang. `probe` is fixed work in registers: if it takes\n"
      "longer than its fastest run by `probe_drop`, the clock is throttled. Then the pairs since\n"
      "the last good probe are discarded, and sampling continues after `cool_ns`, up to `retries`\n"
      "times. `candidate_repeats` and `reference_repeats` are the executions of the work in one\n"
      "pass of a side. `long_windows` is the number of windows with four times the passes, timed\n"
      "at the end for both sides. `candidate_window` and `reference_window` are the passes\n"
      "of a window, known from an earlier batch; then no empty windows are timed.");
  module.def(
      "sample_script", &run_script, nb::arg("candidate"), nb::arg("reference") = nb::none(),
      nb::kw_only(), nb::arg("floor") = nb::none(), nb::arg("probe") = nb::none(),
      nb::arg("now_ns"), nb::arg("rest"), nb::arg("progress") = nb::none(),
      nb::arg("by_wall") = false, nb::arg("options"),
      nb::sig("def sample_script(candidate: collections.abc.Callable[[int], float | tuple[float, "
              "float]], reference: collections.abc.Callable[[int], float | tuple[float, float]] | "
              "None = None, *, "
              "floor: collections.abc.Callable[[int], float | tuple[float, float]] | None = None, "
              "probe: collections.abc.Callable[[int], float] | None = None, "
              "now_ns: collections.abc.Callable[[], float], "
              "rest: collections.abc.Callable[[float], object], "
              "progress: collections.abc.Callable[[int, int], object] | None = None, "
              "by_wall: bool = False, tick_ns: float = 1.0, " PLAN_OPTIONS ") -> Samples"),
      "Run the algorithm of Device.sample with a simulated clock, for tests and simulations.\n"
      "Functions return the time of a number of passes, and the current time. A time may be a\n"
      "pair: on the device's clock and on the wall clock. `by_wall` uses the latter for the\n"
      "length of windows.");
}

}  // namespace metalbench::bindings
