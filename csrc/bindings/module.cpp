#include "cpu/module.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "core/includes.h"
#include "cpu/refused_calls.h"

namespace metalbench::bindings {
namespace {

template <class Result>
Result constant_from(const nb::handle& given, const std::string& where) {
  const nb::object value = plain_number(nb::borrow(given));
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  std::int64_t integer = 0;
  if (!nb::isinstance<nb::int_>(value)) {
    throw ArgumentTypeError(where + ": expected a number, True, False or a list of them, got " +
                            described(given));
  }
  if (!nb::try_cast(value, integer)) {
    throw DispatchError(where + ": expected an integer of 64 bits, got " + repr_of(value));
  }
  return integer;
}

FunctionConstants constants_from(const nb::dict& dict) {
  FunctionConstants constants;
  for (const auto& [key, value] : dict) {
    const std::string where = "constant " + nb::cast<std::string>(nb::str(key));
    ConstantKey name = nb::cast<std::string>(nb::str(key));
    if (!nb::isinstance<nb::str>(key)) {
      const auto index = count_of(key);
      if (!index) throw ArgumentTypeError(where + ": expected a name or an index as key");
      name = *index;
    }
    if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
      std::vector<ConstantScalar> components;
      for (const nb::handle item : value) {
        components.push_back(constant_from<ConstantScalar>(item, where));
      }
      constants.emplace(std::move(name), std::move(components));
    } else {
      constants.emplace(std::move(name), constant_from<ConstantValue>(value, where));
    }
  }
  return constants;
}

std::size_t bytes_from(const nb::object& given, const char* where) {
  const nb::object integer = integer_of(given);
  std::size_t bytes = 0;
  // Devices add the gaps between buffers and round up to pages.
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (integer.is_valid() && nb::try_cast(integer, bytes) && bytes <= most) return bytes;
  throw DispatchError(std::string(where) + ": expected a count of bytes of 0 to 2^63 - 1, got " +
                      described(given));
}

BoundPipeline make_pipeline(const BoundLibrary& library, const std::optional<std::string>& name,
                            const nb::dict& constants) {
  std::string function;
  if (name) {
    function = *name;
  } else {
    const std::vector<std::string> functions = library.library->functions();
    if (functions.size() != 1) {
      throw DispatchError("pipeline: expected the name of a function, because the library has " +
                          std::to_string(functions.size()));
    }
    function = functions.front();
  }
  const FunctionConstants given = constants_from(constants);
  // It may wait for another process.
  const nb::gil_scoped_release released;
  return {library.device, library.library->pipeline(function, given)};
}

// `__enter__` and `__exit__` run on the same thread.
struct ThreadQosContext {
  std::shared_ptr<Device> device;
  std::shared_ptr<void> raised;
};

void define_thread_qos(nb::module_& module) {
  nb::class_<ThreadQosContext>(module, "ThreadQos", "A context with a raised thread QoS class.")
      .def(
          "__enter__",
          [](ThreadQosContext& self) -> ThreadQosContext& {
            self.raised = self.device->raise_thread_qos();
            return self;
          },
          nb::rv_policy::reference)
      .def(
          "__exit__", [](ThreadQosContext& self, const nb::args&) { self.raised.reset(); },
          nb::sig("def __exit__(self, *raised: object) -> None"));
}

void define_device(nb::class_<Device>& device) {
  device.def_prop_ro("kind", [](const Device& self) { return self.info().kind; })
      .def_prop_ro("name", [](const Device& self) { return self.info().name; })
      .def_prop_ro(
          "chip",
          [](const Device& self) -> std::optional<std::string> {
            if (self.info().chip.empty()) return std::nullopt;
            return self.info().chip;
          },
          "Name such as `m4_max`; None where kernels have no variants for the chip.")
      .def_prop_ro("cores", [](const Device& self) { return self.info().cores; })
      .def_prop_ro("limits", [](const Device& self) { return self.info().limits; })
      .def_prop_ro("tick_ns", &Device::tick_ns, "Resolution of the device's clock, in ns.")
      .def_prop_ro(
          "own_clock", [](const Device& self) { return self.info().own_clock; },
          "Whether times come from the device (GPU timestamps); otherwise from the host's clock.")
      .def_prop_ro(
          "checked_builds", [](const Device& self) { return self.info().checked_builds; },
          "Whether `compile` supports checked builds, which detect undefined behaviour.")
      .def_prop_ro(
          "capabilities", [](const Device& self) { return to_dict(self.info().capabilities); },
          nb::for_getter(nb::sig("def capabilities(self) -> dict[str, bool | int | float | str | "
                                 "list[str]]")),
          "Facts that were determined when the device was opened; units are suffixes.")
      .def(
          "state", [](const Device& self) { return to_dict(self.state()); },
          nb::sig("def state(self) -> dict[str, bool | int | float | str | list[str]]"),
          "Facts that may change, such as low-power mode and thermal state.")
      .def_prop_ro("lost", &Device::lost,
                   "Why the device is unusable for this process; empty while it works.")
      .def(
          "thread_qos",
          [](const std::shared_ptr<Device>& self) { return ThreadQosContext{self, {}}; },
          "Return a context that raises the calling thread's QoS class to user-interactive on\n"
          "macOS, and keeps the system awake. `sample` does this itself.")
      .def("make_ready", &Device::make_ready, nb::call_guard<nb::gil_scoped_release>(),
           "Initialise in advance: on `cuda` the GPU's context. Other threads run meanwhile.")
      .def(
          "compile",
          [](const std::shared_ptr<Device>& self, const std::string& source, std::string filename,
             std::map<std::string, std::string> macros, std::vector<std::string> include_dirs,
             bool checked, bool fast_math, std::vector<std::string> tools, bool counted) {
            CompileOptions options{std::move(filename),
                                   std::move(macros),
                                   std::move(include_dirs),
                                   checked,
                                   fast_math,
                                   std::move(tools),
                                   counted};
            return BoundLibrary{self, self->compile(source, options)};
          },
          nb::arg("source"), nb::kw_only(), nb::arg("filename") = "<source>",
          nb::arg("macros") = std::map<std::string, std::string>{},
          nb::arg("include_dirs") = std::vector<std::string>{}, nb::arg("checked") = false,
          nb::arg("fast_math") = true, nb::arg("tools") = std::vector<std::string>{},
          nb::arg("counted") = false,
          "Compile MSL source. `checked` builds detect out-of-bounds accesses, races in\n"
          "threadgroup and device memory, and reads of unwritten memory. They are slow, and\n"
          "slower with `tools`: `mem`, `init` and `arithmetic` add further checks. `counted`\n"
          "builds of the cpu device count operations of threads, for `metalbench.profile`. Raise\n"
          "CompileError, here or when a pipeline is created.")
      .def(
          "allocate",
          [](Device& self, const nb::object& nbytes) {
            return Buffer(self.allocate(bytes_from(nbytes, "allocate: nbytes")), false);
          },
          nb::arg("nbytes"), nb::sig("def allocate(self, nbytes: int) -> Buffer"),
          "Return a zeroed, page-aligned buffer. Raise OutOfMemoryError.")
      .def(
          "buffer",
          [](Device& self, const nb::object& array) { return buffer_from_array(self, array); },
          nb::arg("array"), nb::sig("def buffer(self, array: numpy.ndarray) -> Buffer"),
          "Return a buffer on a NumPy array's own memory where possible (`shared`), else on a\n"
          "copy.");
}

// Return the number and the offset of the first one.
std::pair<std::size_t, std::size_t> unwritten_bytes(const Buffer& buffer) {
  const Storage::Unwritten* marks = buffer.unwritten();
  if (marks == nullptr) return {0, 0};
  const auto is_missing = [](const Storage::Unwritten& mark) { return mark.load() != 0; };
  const Storage::Unwritten* end = marks + buffer.size();
  const auto first = std::find_if(marks, end, is_missing) - marks;
  return {static_cast<std::size_t>(std::count_if(marks, end, is_missing)),
          static_cast<std::size_t>(first)};
}

}  // namespace
}  // namespace metalbench::bindings

NB_MODULE(_core, module) {
  using namespace metalbench;
  using namespace metalbench::bindings;
  module.attr("__doc__") =
      "Devices, compiled kernels, buffers, dispatches and sampling, without tasks and file\n"
      "layouts.";
  nb::set_leak_warnings(false);
  define_errors(module);
  release_nothing_at_exit();
  note_main_thread();
  nb::class_<Limits>(module, "Limits", "Limits of a device.")
      .def_ro("max_threads_per_threadgroup", &Limits::max_threads_per_threadgroup)
      .def_ro("max_threadgroup_bytes", &Limits::max_threadgroup_bytes)
      .def_ro("simd_width", &Limits::simd_width)
      .def_ro("max_buffers", &Limits::max_buffers)
      .def_ro("max_textures", &Limits::max_textures)
      .def_ro("max_samplers", &Limits::max_samplers);
  nb::class_<Buffer>(module, "Buffer", "Memory shared by host and device, or a part of it.")
      .def_prop_ro("nbytes", &Buffer::size)
      .def_prop_ro(
          "address", &Buffer::address,
          "Device address, for pointers in an argument buffer. The dispatch must list the buffer\n"
          "itself in `resources`.")
      .def_prop_ro("shared", &Buffer::shared, "Whether it uses a NumPy array's own memory.")
      .def("mark_unwritten", &Buffer::mark_unwritten,
           "Mark its bytes as unwritten until a kernel of a checked build writes them: earlier\n"
           "reads are then faults of the kernel. Writes of the host are not observed;\n"
           "`mark_written` records them. Slices share the marks.")
      .def("mark_written", &Buffer::mark_written)
      .def("unwritten", &unwritten_bytes, nb::sig("def unwritten(self) -> tuple[int, int]"),
           "Return the number of unwritten bytes, and the position of the first one.")
      .def(
          "slice",
          [](const Buffer& self, const nb::object& offset, const nb::object& nbytes) {
            return self.slice(bytes_from(offset, "slice: offset"),
                              bytes_from(nbytes, "slice: nbytes"));
          },
          nb::arg("offset"), nb::arg("nbytes"),
          nb::sig("def slice(self, offset: int, nbytes: int) -> Buffer"),
          "Return a view of a range of bytes, whose bounds checked builds enforce.")
      .def("numpy", &numpy_view, nb::arg("dtype") = "uint8",
           nb::sig("def numpy(self, dtype: object = 'uint8') -> numpy.typing.NDArray[typing.Any]"),
           "Return a writable one-dimensional view of the memory.");
  define_dispatches(module);
  nb::class_<BoundLibrary>(module, "Library", "Compiled source.")
      .def_prop_ro(
          "functions", [](const BoundLibrary& self) { return self.library->functions(); },
          "Names of its kernels.")
      .def(
          "prepare",
          [](const BoundLibrary& self, const std::vector<std::string>& functions) {
            const nb::gil_scoped_release released;
            self.library->prepare(functions);
          },
          nb::arg("functions"),
          "Announce functions whose pipelines without constants will be requested; some devices\n"
          "compile them faster together.")
      .def(
          "pipeline", &make_pipeline, nb::arg("name") = nb::none(),
          nb::arg("constants") = nb::dict(),
          nb::sig(
              "def pipeline(self, name: str | None = None, constants: dict[int | str, bool | "
              "int | float | list[int] | list[float] | tuple[int | float, ...]] = {}) -> Pipeline"),
          "Compile one kernel; `constants` are its function constants by index or name, vectors\n"
          "as their components. The name is optional if there is only one kernel. Raise\n"
          "CompileError, DispatchError.");
  auto device = nb::class_<Device>(module, "Device", "Where kernels run.");
  define_thread_qos(module);
  define_device(device);
  define_textures(module, device);
  define_texels(module);
  define_samplers(module);
  define_samples(module);
  define_findings(module);
  define_sampling(module, device);
  define_executors(module);
  define_execution_plans(module);
  module.def(
      "with_includes",
      [](const std::string& source, const std::string& filename,
         const std::vector<std::string>& include_dirs, bool line_directives) {
        std::string text = with_includes(source, filename, include_dirs);
        if (!line_directives) text = without_lines(text);
        // Headers may be in any encoding.
        return nb::steal<nb::str>(
            PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
      },
      nb::arg("source"), nb::kw_only(), nb::arg("filename") = "<source>",
      nb::arg("include_dirs") = std::vector<std::string>{}, nb::arg("line_directives") = false,
      "Return the source with each included file in place of its `#include`. Includes outside of\n"
      "its folder and `include_dirs`, such as `<metal_stdlib>`, stay as they are. With\n"
      "`line_directives`, `#line` names the file and line of what follows. Raise CompileError for\n"
      "too much text, or too many inclusions.");
  module.def(
      "open", &open_device, nb::arg("kind") = "auto",
      "Open a device: `auto`, `cpu`, `metal` or `cuda`. Raise Unsupported if it is not available.");
  module.def("devices", &device_kinds,
             "Return the device kinds of this machine, best first, restricted to\n"
             "METALBENCH_DEVICES if that is set.");
  module.def("kernels_loaded", &cpu::modules_loaded,
             "Return how many objects of compiled kernels this process has loaded so far.");
  module.def("tell_of_refused_calls", &cpu::tell_of_refused_calls,
             "When a filter traps a system call, write it to standard error before the process\n"
             "ends. No effect on systems without such filters.");
}
