#include "engine.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "cpu/device.h"

namespace metal_double {

namespace nb = nanobind;

metalbench::Device& engine() {
  // Never destroyed: it may still run a kernel when the program ends.
  static auto& device = *new std::shared_ptr<metalbench::Device>(
      metalbench::cpu::make_device(metalbench::bindings::python_front_end(false)));
  return *device;
}

std::vector<SourceConstant> function_constants_of(const std::string& source,
                                                  const metalbench::CompileOptions& options) {
  if (source.find("function_constant") == std::string::npos) return {};
  const nb::gil_scoped_acquire gil;
  const nb::object program =
      nb::module_::import_("metalbench.msl.engine")
          .attr("parse")(source, options.filename, options.macros, options.include_dirs);
  std::vector<SourceConstant> found;
  for (const nb::handle constant : program.attr("source").attr("constants")) {
    found.push_back({nb::cast<std::string>(constant.attr("name")),
                     nb::cast<std::string>(constant.attr("type")),
                     nb::cast<std::uint32_t>(constant.attr("index")),
                     !nb::cast<bool>(constant.attr("is_optional"))});
  }
  return found;
}

std::string current_exception_text() {
  try {
    throw;
  } catch (const nb::python_error& error) {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::string>(nb::str(error.value()));
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace metal_double
