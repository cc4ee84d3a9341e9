#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "core/finding.h"

namespace metalbench::bindings {

void define_findings(nb::module_& module) {
  nb::class_<Frame>(module, "Frame", "A line of the source that led to a finding.")
      .def_ro("function", &Frame::function)
      .def_ro("file", &Frame::file)
      .def_ro("line", &Frame::line)
      .def_ro("column", &Frame::column);
  nb::class_<Finding>(module, "Finding",
                      "Of several of its rule at one place of the code the first in the grid.")
      .def_ro("rule", &Finding::rule, "Such as race, or out-of-bounds.")
      .def_ro("kernel", &Finding::kernel)
      .def_ro("message", &Finding::message)
      .def_ro("count", &Finding::count, "How many there were.")
      .def_ro("places", &Finding::places,
              "More than one: how many places of this rule it stands for that are not listed.")
      .def_ro("frames", &Finding::frames, "Where in the source, the innermost call first.");
}

}  // namespace metalbench::bindings
