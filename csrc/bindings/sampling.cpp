#include "core/sampling.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>

#include "bindings/bindings.h"
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
  constexpr double longest = 1e9;  // s; what is longer is for ever
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

template <typename T>
nb::object array_of(const std::vector<T>& values) {
  auto* held = new std::vector<T>(values);
  const nb::capsule owner(
      held, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner),
                  nb::rv_policy::reference);
}

nb::object bools_of(const std::vector<bool>& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return array_of(bytes).attr("view")("bool");
}

struct SampleArguments {
  DispatchList candidate;
  nb::object reference;
  SamplePlan plan;
  double kernel_time_limit;
  nb::object progress;
};

Samples run_plan(Device& device, const SampleArguments& arguments) {
  const std::vector<Dispatch> dispatches = dispatches_of(device, arguments.candidate);
  const std::unique_ptr<Program> candidate = device.prepare(dispatches);
  const std::unique_ptr<Program> floor = device.prepare_null(dispatches);
  std::unique_ptr<Program> other;
  Sources sources;
  sources.now_ns = now_ns;
  sources.candidate = source_of(*candidate, arguments.kernel_time_limit);
  sources.floor = source_of(*floor, arguments.kernel_time_limit);
  if (PyCallable_Check(arguments.reference.ptr()) != 0) {
    sources.reference = source_of(nb::cast<nb::callable>(arguments.reference));
    if (device.info().own_clock) sources.clock = Clock::wall;  // the only one that both have
  } else if (!arguments.reference.is_none()) {
    other = device.prepare(dispatches_of(device, nb::cast<DispatchList>(arguments.reference)));
    sources.reference = source_of(*other, arguments.kernel_time_limit);
  }
  if (!arguments.progress.is_none()) {
    sources.progress = [&](std::uint32_t done, std::uint32_t total) {
      const nb::gil_scoped_acquire gil;
      arguments.progress(done, total);
    };
  }
  SamplePlan plan = arguments.plan;
  plan.tick_ns = device.tick_ns();
  const nb::gil_scoped_release released;
  return sample(sources, plan);
}

}  // namespace

void define_sampling(nb::module_& module, nb::class_<Device>& device) {
  nb::class_<Samples>(module, "Samples", "Raw times of one sampling plan, in ns per single pass.")
      .def_prop_ro(
          "candidate_ns", [](const Samples& self) { return array_of(self.candidate_ns); },
          nb::for_getter(nb::sig("def candidate_ns(self) -> numpy.typing.NDArray[numpy.float64]")))
      .def_prop_ro(
          "reference_ns", [](const Samples& self) { return array_of(self.reference_ns); },
          nb::for_getter(nb::sig("def reference_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "One for each of candidate_ns; empty without a reference.")
      .def_prop_ro(
          "floor_ns", [](const Samples& self) { return array_of(self.floor_ns); },
          nb::for_getter(nb::sig("def floor_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The same launches of kernels that do nothing.")
      .def_prop_ro(
          "candidate_first", [](const Samples& self) { return bools_of(self.candidate_first); },
          nb::for_getter(nb::sig("def candidate_first(self) -> numpy.typing.NDArray[numpy.bool]")),
          "Which of each pair ran first.")
      .def_prop_ro(
          "clock",
          [](const Samples& self) { return self.clock == Clock::device ? "device" : "wall"; },
          "What candidate_ns, reference_ns and floor_ns were taken with: the device's own clock,\n"
          "or wall time where only one side has such a clock.")
      .def_prop_ro(
          "device_ns", [](const Samples& self) { return array_of(self.device_ns); },
          nb::for_getter(nb::sig("def device_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The candidate's times on the device's own clock.")
      .def_prop_ro(
          "counter_ns", [](const Samples& self) { return array_of(self.counter_ns); },
          nb::for_getter(nb::sig("def counter_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The candidate's times by counters at the ends of its encoder; NaN where there are none.")
      .def_prop_ro(
          "wall_ns", [](const Samples& self) { return array_of(self.wall_ns); },
          nb::for_getter(nb::sig("def wall_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The candidate's times from before encoding until the host knows of the end.")
      .def_prop_ro(
          "encode_ns", [](const Samples& self) { return array_of(self.encode_ns); },
          nb::for_getter(nb::sig("def encode_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The host's own work on each of the candidate's windows until it was handed over.")
      .def_ro("candidate_window", &Samples::candidate_window, "Passes in a window.")
      .def_ro("reference_window", &Samples::reference_window)
      .def_ro("tick_ns", &Samples::tick_ns, "Resolution of the clock.")
      .def_ro("elapsed_ns", &Samples::elapsed_ns);

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
      "sample",
      [](Device& self, DispatchList candidate, nb::object reference, std::uint32_t max_pairs,
         std::uint32_t min_pairs, double window_ns, double warmup_ns, double time_limit_ns,
         std::uint64_t seed, double kernel_time_limit, nb::object progress) {
        SamplePlan plan;
        plan.max_pairs = max_pairs;
        plan.min_pairs = min_pairs;
        plan.window_ns = window_ns;
        plan.warmup_ns = warmup_ns;
        plan.time_limit_ns = time_limit_ns;
        plan.seed = seed;
        return run_plan(self, {std::move(candidate), std::move(reference), plan, kernel_time_limit,
                               std::move(progress)});
      },
      nb::arg("candidate"), nb::arg("reference") = nb::none(), nb::kw_only(),
      nb::arg("max_pairs") = 256, nb::arg("min_pairs") = 16, nb::arg("window_ns") = 1e6,
      nb::arg("warmup_ns") = 200e6, nb::arg("time_limit_ns") = 2e9, nb::arg("seed") = 0,
      nb::arg("kernel_time_limit") = 10.0, nb::arg("progress") = nb::none(),
      nb::sig("def sample(self, candidate: collections.abc.Sequence[Dispatch], reference: "
              "collections.abc.Callable[[int], object] | collections.abc.Sequence[Dispatch] | None "
              "= None, *, max_pairs: int = 256, "
              "min_pairs: int = 16, window_ns: float = 1e6, warmup_ns: float = 2e8, "
              "time_limit_ns: float = 2e9, seed: int = 0, kernel_time_limit: float = 10.0, "
              "progress: collections.abc.Callable[[int, int], object] | None = None) -> Samples"),
      "Time `candidate` against `reference` in pairs, in random order within each pair, in "
      "windows\n"
      "of as many passes as make `window_ns`. `reference` is a list of dispatches, or a function\n"
      "that runs so many passes to completion. One call runs the whole plan; the GIL is held only\n"
      "within `reference` and `progress(done, total)`. `kernel_time_limit` in s ends a hang.");
}

}  // namespace metalbench::bindings
