#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "bindings/bindings.h"
#include "core/errors.h"

namespace metalbench::bindings {
namespace {

Size3 size_from(const nb::handle& object, const std::string& kernel, const char* name) {
  std::vector<std::optional<std::uint32_t>> sizes;
  if (integer_of(object).is_valid()) {
    sizes.push_back(count_of(object));
  } else if (PySequence_Check(object.ptr()) != 0 && !nb::isinstance<nb::str>(object)) {
    for (const nb::handle item : object) sizes.push_back(count_of(item));
  }
  const bool fits = !sizes.empty() && sizes.size() <= 3 &&
                    std::ranges::all_of(sizes, [](const auto& size) { return size.has_value(); });
  if (!fits) {
    throw DispatchError("[" + kernel + "] " + name +
                        ": expected one to three sizes of 0 to 2^32 - 1, got " + repr_of(object));
  }
  sizes.resize(3, 1);
  return {*sizes[0], *sizes[1], *sizes[2]};
}

// Convert sizes of dynamic threadgroup memory by name.
std::map<std::string, std::uint32_t> sizes_from(const nb::dict& given, const std::string& kernel) {
  std::map<std::string, std::uint32_t> sizes;
  for (const auto& [key, value] : given) {
    const auto size = count_of(value);
    const std::string name = nb::cast<std::string>(nb::str(key));
    if (!size) {
      throw DispatchError("[" + kernel + "] threadgroup_bytes: " + name +
                          ": expected a count of bytes, got " + repr_of(value));
    }
    sizes.emplace(name, *size);
  }
  return sizes;
}

Bytes bytes_of_numbers(const std::vector<std::int64_t>& numbers) {
  const auto* begin = reinterpret_cast<const std::byte*>(numbers.data());
  return {begin, begin + numbers.size() * sizeof(std::int64_t)};
}

// Return the extents and strides of the tensor over a dense NumPy array.
Bytes extents_of(const PipelineInfo& kernel, const Argument& tensor, const Argument& extents,
                 const nb::object& array) {
  std::vector<std::int64_t> sizes;
  for (const nb::handle size : array.attr("shape")) sizes.push_back(nb::cast<std::int64_t>(size));
  std::ranges::reverse(sizes);
  const std::size_t rank = tensor_rank(extents);
  if (sizes.empty() || (rank != 0 && rank != sizes.size())) {
    reject_value(kernel, tensor,
                 "expected an array of " + std::to_string(rank) +
                     " dimensions for a tensor of rank " + std::to_string(rank) + ", got " +
                     std::to_string(sizes.size()));
  }
  if (tensor.type.find("int4b_format") != std::string::npos) sizes.front() *= 2;
  std::vector<std::int64_t> numbers = sizes;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) {
    numbers.push_back(stride);
    stride *= size;
  }
  return bytes_of_numbers(numbers);
}

// Add the extents of tensors that are given as arrays.
void add_extents(const PipelineInfo& kernel, const nb::dict& arguments,
                 std::map<std::string, Value>& values) {
  for (const Argument& extents : kernel.arguments) {
    if (!is_extents(extents) || values.contains(extents.name)) continue;
    const std::string name = extents.name.substr(0, extents.name.size() - extents_suffix.size());
    const auto tensor = std::ranges::find(kernel.arguments, name, &Argument::name);
    if (tensor == kernel.arguments.end() || !arguments.contains(name.c_str())) continue;
    const nb::object array = arguments[name.c_str()];
    if (nb::hasattr(array, "shape") && !nb::isinstance<Buffer>(array))
      values.emplace(extents.name, extents_of(kernel, *tensor, extents, array));
  }
}

std::map<std::string, Value> values_from(const BoundPipeline& pipeline, const nb::dict& arguments) {
  const PipelineInfo& kernel = pipeline.pipeline->info();
  std::map<std::string, Value> values;
  for (const auto& [key, object] : arguments) {
    const auto name = nb::cast<std::string>(nb::str(key));
    const auto argument = std::ranges::find(kernel.arguments, name, &Argument::name);
    if (argument == kernel.arguments.end()) {
      // bind() reports the unknown name; it needs only the name.
      values.emplace(name, Bytes{});
      continue;
    }
    values.emplace(name, value_from_python(*pipeline.device, kernel, *argument,
                                           nb::borrow<nb::object>(object)));
  }
  add_extents(kernel, arguments, values);
  return values;
}

void construct(BoundDispatch* self, const BoundPipeline& pipeline, const nb::dict& arguments,
               const nb::object& threadgroups, const nb::object& threads_in_grid,
               const nb::object& threads, const nb::dict& threadgroup_bytes,
               const std::vector<std::variant<Buffer, Texture>>& resources) {
  const std::string& name = pipeline.pipeline->info().name;
  if (threadgroups.is_none() == threads_in_grid.is_none()) {
    throw DispatchError("[" + name +
                        "] grid: expected exactly one of threadgroups and threads_in_grid");
  }
  DispatchRequest request;
  request.arguments = values_from(pipeline, arguments);
  request.threadgroup_bytes = sizes_from(threadgroup_bytes, name);
  for (const auto& resource : resources) {
    const auto* texture = std::get_if<Texture>(&resource);
    request.resources.push_back(texture != nullptr ? texture->resource()
                                                   : std::get<Buffer>(resource));
  }
  request.grid_in_threads = threadgroups.is_none();
  request.grid = request.grid_in_threads ? size_from(threads_in_grid, name, "threads_in_grid")
                                         : size_from(threadgroups, name, "threadgroups");
  request.threads = size_from(threads, name, "threads");
  new (self) BoundDispatch{
      pipeline.device, bind(pipeline.pipeline, std::move(request), pipeline.device->info().limits)};
}

nb::tuple to_tuple(const Size3& size) { return nb::make_tuple(size.x, size.y, size.z); }

void define_reflection(nb::module_& module) {
  nb::class_<Argument>(module, "Argument", "A parameter of a kernel that the caller binds.")
      .def_ro("name", &Argument::name)
      .def_prop_ro("kind", [](const Argument& self) { return to_string(self.kind); })
      .def_ro("index", &Argument::index)
      .def_ro("type", &Argument::type,
              "Type that the parameter points to, as written in the source.")
      .def_ro("address_space", &Argument::address_space)
      .def_prop_ro("access", [](const Argument& self) { return to_string(self.access); })
      .def_ro("element_bytes", &Argument::element_bytes)
      .def_prop_ro(
          "element",
          [](const Argument& self) -> std::optional<std::string> {
            const Element element = element_of(self);
            if (element == Element::any) return std::nullopt;
            return numpy_name(element);
          },
          "NumPy's name of the element type: `float16` for a `packed_half3`. None for structs and\n"
          "`void`.")
      .def_prop_ro(
          "texture",
          [](const Argument& self) -> std::string {
            return self.kind == ArgumentKind::texture ? to_string(self.texture.type) : "";
          },
          "Kind of a texture parameter, as `Texture.kind`: 2d; empty for other parameters.")
      .def_prop_ro(
          "count", [](const Argument& self) { return self.texture.count; },
          "Number of textures or samplers: above 1 for an array of them.")
      .def("__repr__", [](const Argument& self) {
        const std::string space = self.address_space.empty() ? "" : self.address_space + " ";
        return "Argument(" + space + self.type + " " + self.name + " [[" + to_string(self.kind) +
               "(" + std::to_string(self.index) + ")]])";
      });
  nb::class_<Attribute>(module, "Attribute", "A parameter that the device supplies.")
      .def_ro("name", &Attribute::name)
      .def_ro("type", &Attribute::type)
      .def("__repr__", [](const Attribute& self) {
        return "Attribute(" + self.type + " [[" + self.name + "]])";
      });
}

}  // namespace

void define_dispatches(nb::module_& module) {
  define_reflection(module);
  nb::class_<BoundPipeline>(module, "Pipeline", "A kernel compiled for a device.")
      .def_prop_ro("name", [](const BoundPipeline& self) { return self.pipeline->info().name; })
      .def_prop_ro("arguments",
                   [](const BoundPipeline& self) { return self.pipeline->info().arguments; })
      .def_prop_ro("attributes",
                   [](const BoundPipeline& self) { return self.pipeline->info().attributes; })
      .def_prop_ro(
          "threadgroup_bytes",
          [](const BoundPipeline& self) { return self.pipeline->info().threadgroup_bytes; },
          "Static threadgroup memory in bytes.")
      .def_prop_ro(
          "max_threads",
          [](const BoundPipeline& self) { return self.pipeline->info().max_threads; },
          "Maximum number of threads per threadgroup of this kernel.")
      .def_prop_ro("simd_width",
                   [](const BoundPipeline& self) { return self.device->info().limits.simd_width; })
      .def_prop_ro(
          "needs_fibers",
          [](const BoundPipeline& self) { return self.pipeline->info().needs_fibers; },
          "cpu device: whether threads synchronise, so that each needs a separate stack.")
      .def_prop_ro(
          "engine", [](const BoundPipeline& self) { return self.pipeline->info().engine; },
          "Execution mode: `metal`, or on the cpu device `vectors` (one SIMD-group at a time), "
          "`fibers` (one thread at a time, each on a separate stack) or `loops` over the threads.")
      .def_prop_ro(
          "engine_reason",
          [](const BoundPipeline& self) { return self.pipeline->info().engine_reason; },
          "Why the execution mode is not `vectors`; empty if it is, and on a GPU.")
      .def_prop_ro(
          "engine_widths",
          [](const BoundPipeline& self) { return self.pipeline->info().engine_widths; },
          "Execution mode `vectors`: numbers of threads per call along x, in descending order.");
  nb::class_<BoundDispatch>(module, "Dispatch",
                            "One launch of a kernel, with its arguments bound by name.")
      .def(
          "__init__", &construct, nb::arg("pipeline"), nb::arg("arguments"), nb::kw_only(),
          nb::arg("threadgroups") = nb::none(), nb::arg("threads_in_grid") = nb::none(),
          nb::arg("threads"), nb::arg("threadgroup_bytes") = nb::dict(),
          nb::arg("resources") = std::vector<std::variant<Buffer, Texture>>{},
          nb::sig("def __init__(self, pipeline: Pipeline, arguments: dict[str, object], *, "
                  "threadgroups: int | tuple[int, ...] | None = None, "
                  "threads_in_grid: int | tuple[int, ...] | None = None, "
                  "threads: int | tuple[int, ...], threadgroup_bytes: dict[str, int] = {}, "
                  "resources: collections.abc.Sequence[Buffer | Texture] = ()) -> None"),
          "Bind `arguments` by name (Buffer, NumPy array, NumPy or Python scalar, bytes, Texture,\n"
          "Sampler) and set the grid: either `threadgroups` or `threads_in_grid`, each with up to\n"
          "three dimensions, and `threads` per threadgroup. `threadgroup_bytes` sets sizes of\n"
          "dynamic threadgroup memory by name. `resources` are buffers and textures that the\n"
          "kernel accesses through addresses in other buffers: `Buffer.address`,\n"
          "`Texture.resource_id`. An array's element type must match the kernel's: vectors and\n"
          "packed types match by component, integers by size, structs match any type. Raw bytes\n"
          "always match: `array.view(numpy.uint8)`, `bytes`, or a Buffer of `Device.allocate`.\n"
          "Raise DispatchError, and its subclass ArgumentTypeError for a wrong type.")
      .def_prop_ro(
          "threads", [](const BoundDispatch& self) { return to_tuple(self.dispatch.threads); },
          nb::for_getter(nb::sig("def threads(self) -> tuple[int, int, int]")))
      .def_prop_ro(
          "threadgroups",
          [](const BoundDispatch& self) { return to_tuple(self.dispatch.threadgroups_per_grid()); },
          nb::for_getter(nb::sig("def threadgroups(self) -> tuple[int, int, int]")))
      .def_prop_ro(
          "threads_in_grid",
          [](const BoundDispatch& self) { return to_tuple(self.dispatch.threads_per_grid()); },
          nb::for_getter(nb::sig("def threads_in_grid(self) -> tuple[int, int, int]")))
      .def_prop_ro(
          "threadgroup_bytes",
          [](const BoundDispatch& self) {
            std::uint32_t bytes = self.dispatch.pipeline->info().threadgroup_bytes;
            for (const ThreadgroupMemory& memory : self.dispatch.threadgroup_memory)
              bytes += memory.bytes;
            return bytes;
          },
          "Static and dynamic threadgroup memory in bytes.");
}

}  // namespace metalbench::bindings
