// Results of a sampling plan as NumPy arrays.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings/bindings.h"
#include "core/sampling.h"

namespace metalbench::bindings {
namespace {

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

}  // namespace

#define METALBENCH_TIMES(name, values, doc)                       \
  def_prop_ro(                                                    \
      name, [](const Samples& self) { return array_of(values); }, \
      nb::for_getter(nb::sig("def " name "(self) -> numpy.typing.NDArray[numpy.float64]")), doc)

void define_samples(nb::module_& module) {
  nb::class_<Samples>(module, "Samples", "Raw times of one sampling plan, in ns per pass.")
      .METALBENCH_TIMES("candidate_ns", self.candidate.on(self.clock), "One for each pair.")
      .METALBENCH_TIMES("reference_ns", self.reference.on(self.clock),
                        "One for each of candidate_ns; empty without a reference.")
      .METALBENCH_TIMES("floor_ns", self.floor.on(self.clock),
                        "The same launches with empty kernels.")
      .METALBENCH_TIMES("long_ns", self.long_candidate.on(self.clock),
                        "The candidate's times in windows of four times the passes.")
      .METALBENCH_TIMES("reference_long_ns", self.long_reference.on(self.clock), "The reference's.")
      .METALBENCH_TIMES("device_ns", self.candidate.device_ns,
                        "The candidate's times on the device's clock.")
      .METALBENCH_TIMES("wall_ns", self.candidate.wall_ns,
                        "The candidate's times from the start of encoding until the host sees the\n"
                        "end. If `clock` is the device's, windows are queued, and the submission\n"
                        "latency is not included.")
      .METALBENCH_TIMES("counter_ns", self.counter_ns,
                        "The candidate's times from counters at its encoders' boundaries; NaN\n"
                        "without counters.")
      .METALBENCH_TIMES("encode_ns", self.encode_ns,
                        "Host time for each of the candidate's windows until its submission.")
      .METALBENCH_TIMES("reference_device_ns", self.reference.device_ns,
                        "Busy time of the device for the reference; NaN if any part is unknown.")
      .METALBENCH_TIMES("reference_wall_ns", self.reference.wall_ns,
                        "Time until the function returned.")
      .METALBENCH_TIMES("floor_device_ns", self.floor.device_ns, "floor_ns on the device's clock.")
      .METALBENCH_TIMES("long_device_ns", self.long_candidate.device_ns,
                        "long_ns on the device's clock.")
      .METALBENCH_TIMES("reference_long_device_ns", self.long_reference.device_ns,
                        "As reference_device_ns.")
      .METALBENCH_TIMES("probe_ns", self.probe_ns, "Times of the probe, in order of execution.")
      .METALBENCH_TIMES("probe_after_candidate_ns", self.probe_after_candidate_ns,
                        "Times of the probe directly after each long window of the candidate.")
      .METALBENCH_TIMES("probe_after_reference_ns", self.probe_after_reference_ns,
                        "The same for the reference.")
      .def_prop_ro(
          "candidate_first", [](const Samples& self) { return bools_of(self.candidate_first); },
          nb::for_getter(nb::sig("def candidate_first(self) -> numpy.typing.NDArray[numpy.bool]")),
          "Which side of each pair ran first.")
      .def_prop_ro(
          "clock",
          [](const Samples& self) { return self.clock == Clock::device ? "device" : "wall"; },
          "Clock of candidate_ns, reference_ns, floor_ns and the long ones: the device's clock,\n"
          "or wall time if a side has no device clock. The names of the others state their clock.")
      .def_ro("best_probe_ns", &Samples::best_probe_ns)
      .def_ro("discarded", &Samples::discarded,
              "Pairs that were discarded because the clock was throttled.")
      .def_ro("retries", &Samples::retries, "Number of continuations after throttling.")
      .def_ro("throttled", &Samples::throttled, "Whether the clock stayed low after all retries.")
      .def_ro("candidate_window", &Samples::candidate_window, "Passes in a window.")
      .def_ro("reference_window", &Samples::reference_window)
      .def_ro("passes_per_command_buffer", &Samples::passes_per_command_buffer,
              "Pass limit of the candidate's command buffers, which gives both sides equally many\n"
              "boundaries; 0 if the device chose.")
      .def_ro("reference_passes_per_command_buffer", &Samples::reference_passes_per_command_buffer,
              "Mean for the reference; 0 if its command buffers are not counted.")
      .def_ro("tick_ns", &Samples::tick_ns, "Resolution of the clock.")
      .def_ro("warmup_ns", &Samples::warmup_ns)
      .def_ro("elapsed_ns", &Samples::elapsed_ns);
}

}  // namespace metalbench::bindings
