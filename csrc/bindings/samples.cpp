// What a sampling plan gives, as NumPy arrays.
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

void define_samples(nb::module_& module) {
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
      .def_prop_ro(
          "long_ns", [](const Samples& self) { return array_of(self.long_ns); },
          nb::for_getter(nb::sig("def long_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "The candidate's times in windows of four times the passes.")
      .def_prop_ro(
          "probe_ns", [](const Samples& self) { return array_of(self.probe_ns); },
          nb::for_getter(nb::sig("def probe_ns(self) -> numpy.typing.NDArray[numpy.float64]")),
          "Times of the probe, in the order in which they were taken.")
      .def_ro("best_probe_ns", &Samples::best_probe_ns)
      .def_ro("discarded", &Samples::discarded, "Pairs dropped because the clock was throttled.")
      .def_ro("retries", &Samples::retries, "How often sampling went on after throttling.")
      .def_ro("throttled", &Samples::throttled, "Whether the clock stayed low after all retries.")
      .def_ro("candidate_window", &Samples::candidate_window, "Passes in a window.")
      .def_ro("reference_window", &Samples::reference_window)
      .def_ro("tick_ns", &Samples::tick_ns, "Resolution of the clock.")
      .def_ro("warmup_ns", &Samples::warmup_ns)
      .def_ro("elapsed_ns", &Samples::elapsed_ns);
}

}  // namespace metalbench::bindings
