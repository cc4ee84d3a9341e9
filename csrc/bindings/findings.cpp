#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "core/finding.h"

namespace metalbench::bindings {

void define_findings(nb::module_& module) {
  nb::class_<Frame>(module, "Frame", "A source line of a finding's call stack.")
      .def_ro("function", &Frame::function)
      .def_ro("file", &Frame::file)
      .def_ro("line", &Frame::line)
      .def_ro("column", &Frame::column);
  nb::class_<Finding>(module, "Finding",
                      "The first occurrence, in grid order, of one rule at one place in the code.")
      .def_ro("rule", &Finding::rule, "Name of the rule, such as race or out-of-bounds.")
      .def_ro("kernel", &Finding::kernel)
      .def_ro("message", &Finding::message)
      .def_ro("count", &Finding::count, "How many there were.")
      .def_ro("places", &Finding::places,
              "If above 1: number of unlisted places of this rule that it summarises.")
      .def_ro("frames", &Finding::frames, "Place in the source, the innermost call first.");
}

}  // namespace metalbench::bindings
