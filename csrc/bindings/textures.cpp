// Textures from NumPy arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "core/errors.h"

namespace metalbench::bindings {
namespace {

// NumPy's names of the channels, in their order.
constexpr std::array<const char*, 22> dtypes = {
    "uint8",   "int8",   "uint8",  "int8",    "uint16", "int16",  "uint16", "int16",
    "float16", "uint32", "int32",  "float32", "uint8",  "uint16", "uint16", "uint16",
    "uint16",  "uint32", "uint32", "uint32",  "uint32", "uint32"};
static_assert(dtypes.size() == static_cast<std::size_t>(Channel::rgb9e5_float) + 1);

// uint8 means 8unorm, as is usual for images; other integers stay integers.
const char* default_channel(const std::string& dtype) {
  constexpr std::array<std::array<const char*, 2>, 8> channels = {{{"uint8", "8unorm"},
                                                                   {"int8", "8sint"},
                                                                   {"uint16", "16uint"},
                                                                   {"int16", "16sint"},
                                                                   {"float16", "16float"},
                                                                   {"uint32", "32uint"},
                                                                   {"int32", "32sint"},
                                                                   {"float32", "32float"}}};
  for (const auto& [name, channel] : channels) {
    if (dtype == name) return channel;
  }
  throw DispatchError(
      "texture: expected an array of 8, 16 or 32 bit integers or float16 or "
      "float32, got " +
      dtype);
}

using Sizes = std::vector<std::size_t>;

std::string text_of(const nb::object& object) { return nb::cast<std::string>(nb::str(object)); }

Sizes sizes_of(const nb::object& array, const char* name) {
  Sizes sizes;
  for (const nb::handle size : array.attr(name)) {
    sizes.push_back(static_cast<std::size_t>(nb::cast<std::int64_t>(size)));
  }
  return sizes;
}

PixelFormat format_of(const nb::object& array, std::size_t channels,
                      const std::optional<std::string>& name) {
  const std::string dtype = text_of(array.attr("dtype"));
  if (channels != 1 && channels != 2 && channels != 4) {
    throw DispatchError("texture: expected 1, 2 or 4 components in the last axis, got " +
                        std::to_string(channels) + (channels == 3 ? "; add a fourth one" : ""));
  }
  const char* prefix = channels == 1 ? "r" : channels == 2 ? "rg" : "rgba";
  const PixelFormat format =
      pixel_format(name ? *name : prefix + std::string(default_channel(dtype)));
  if (format.channels != channels || dtype != dtype_of(format.channel)) {
    throw DispatchError("texture: format " + *name + ": expected " +
                        std::to_string(format.channels) + " components of " +
                        dtype_of(format.channel) + ", got " + std::to_string(channels) + " of " +
                        dtype);
  }
  return format;
}

// Sizes and strides of an array's axes: slices, rows, texels, components.
struct Axes {
  std::size_t sizes[4] = {1, 1, 1, 1};
  std::size_t strides[4] = {0, 0, 0, 0};

  // Return whether texels are dense, and rows and slices are multiples of a component apart.
  [[nodiscard]] bool laid_out(std::size_t component_bytes) const {
    std::size_t least = component_bytes;
    for (int axis = 3; axis >= 0; --axis) {
      if (sizes[axis] == 1) continue;
      const bool dense = axis >= 2;
      if (dense ? strides[axis] != least
                : strides[axis] < least || strides[axis] > most || strides[axis] % component_bytes)
        return false;
      least = sizes[axis] * strides[axis];
    }
    return true;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 60;  // negative strides wrap above it
};

Axes axes_of(const nb::object& array, TextureType type) {
  const Sizes sizes = sizes_of(array, "shape");
  const Sizes strides = sizes_of(array, "strides");
  const std::size_t expected = dimensions(type) + (has_slices(type) ? 1 : 0);
  if (sizes.size() != expected && sizes.size() != expected + 1) {
    throw DispatchError("texture: kind " + std::string(to_string(type)) + ": expected " +
                        std::to_string(expected) + " axes, or one more for components, got shape " +
                        text_of(array.attr("shape")));
  }
  Axes axes;
  const auto put = [&](std::size_t to, std::size_t from) {
    axes.sizes[to] = sizes[from];
    axes.strides[to] = strides[from];
  };
  if (sizes.size() > expected) put(3, expected);
  put(2, expected - 1);
  if (dimensions(type) >= 2) put(1, expected - 2);
  if (has_slices(type) || dimensions(type) == 3) put(0, 0);
  return axes;
}

TextureLevel level_of(const Axes& axes, std::size_t texel_bytes) {
  const auto size = [&axes](int axis) {
    if (axes.sizes[axis] > 1U << 30) throw DispatchError("texture: expected sizes below 2^30");
    return static_cast<std::uint32_t>(axes.sizes[axis]);
  };
  TextureLevel level{0, size(2), size(1), size(0), 0, 0};
  level.row_bytes = level.height > 1 ? axes.strides[1] : level.width * texel_bytes;
  level.slice_bytes = level.slices > 1 ? axes.strides[0] : level.height * level.row_bytes;
  return level;
}

// Make a texture on the array's own memory; nothing if device or layout needs a copy.
std::optional<Texture> shared_texture(Device& device, const nb::object& array,
                                      TextureDescriptor descriptor) {
  const Axes axes = axes_of(array, descriptor.type);
  const nb::object data = array.attr("__array_interface__")["data"];
  if (nb::cast<bool>(data[1]) || !axes.laid_out(descriptor.format.channel_bytes())) return {};
  descriptor.levels = {level_of(axes, descriptor.format.bytes())};
  auto* begin = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(data[0]));
  const std::size_t bytes = descriptor.levels.front().bytes(descriptor.format);
  auto storage = device.wrap({begin, bytes}, keep_alive(array));
  if (storage == nullptr) return {};
  return Texture(Buffer(std::move(storage), true), std::move(descriptor));
}

Texture copied_texture(Device& device, const std::vector<nb::object>& arrays,
                       TextureDescriptor descriptor) {
  const nb::object contiguous = nb::module_::import_("numpy").attr("ascontiguousarray");
  constexpr std::size_t alignment = 256;
  std::vector<nb::object> dense;
  std::size_t total = 0;
  for (const nb::object& array : arrays) {
    dense.push_back(contiguous(array));
    TextureLevel level =
        level_of(axes_of(dense.back(), descriptor.type), descriptor.format.bytes());
    level.offset = total;
    total += (level.bytes(descriptor.format) + alignment - 1) / alignment * alignment;
    descriptor.levels.push_back(level);
  }
  const Buffer buffer(device.allocate(total), false);
  Texture texture(buffer, descriptor);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const nb::object data = dense[i].attr("__array_interface__")["data"];
    std::memcpy(buffer.bytes().data() + descriptor.levels[i].offset,
                reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(data[0])),
                nb::cast<std::size_t>(dense[i].attr("nbytes")));
  }
  return texture;
}

Texture texture_from(Device& device, const nb::object& given,
                     const std::optional<std::string>& format, const std::string& kind) {
  std::vector<nb::object> arrays;
  if (nb::isinstance<nb::list>(given)) {
    for (const nb::handle array : given) arrays.push_back(nb::borrow<nb::object>(array));
  } else {
    arrays.push_back(given);
  }
  TextureDescriptor descriptor{texture_type(kind), {}, {}};
  for (const nb::object& array : arrays) {
    if (!nb::hasattr(array, "__array_interface__")) {
      throw DispatchError("texture: expected a NumPy array, or a list of them as mip levels; got " +
                          nb::cast<std::string>(nb::repr(array.type())));
    }
    const PixelFormat found = format_of(array, axes_of(array, descriptor.type).sizes[3], format);
    if (&array != &arrays.front() && !(found == descriptor.format)) {
      throw DispatchError("texture: expected levels of one format, got " +
                          to_string(descriptor.format) + " and " + to_string(found));
    }
    descriptor.format = found;
  }
  std::optional<Texture> made;
  if (arrays.size() == 1) made = shared_texture(device, arrays.front(), descriptor);
  if (!made) made = copied_texture(device, arrays, std::move(descriptor));
  made->set_handle(device.describe(*made));
  return *made;
}

std::uint64_t resource_id(const Texture& texture) {
  if (texture.handle() == nullptr) {
    throw Unsupported(
        "texture: this device has no resource_id for textures inside of buffers; pass the texture "
        "as an argument of the kernel");
  }
  return reinterpret_cast<std::uintptr_t>(texture.handle().get());
}

nb::object numpy_of(const Texture& texture, std::size_t number) {
  const TextureDescriptor& descriptor = texture.descriptor();
  if (number >= descriptor.levels.size()) {
    throw DispatchError("texture: expected a level below " +
                        std::to_string(descriptor.levels.size()) + ", got " +
                        std::to_string(number));
  }
  const TextureLevel& level = descriptor.levels[number];
  const PixelFormat& format = descriptor.format;
  nb::list shape, strides;
  const auto axis = [&](std::size_t size, std::size_t stride) {
    shape.append(size);
    strides.append(stride);
  };
  const bool planes = has_slices(descriptor.type) || dimensions(descriptor.type) == 3;
  if (planes) axis(level.slices, level.slice_bytes);
  if (dimensions(descriptor.type) >= 2) axis(level.height, level.row_bytes);
  axis(level.width, format.bytes());
  if (format.channels > 1) axis(format.channels, format.channel_bytes());
  const nb::object bytes = numpy_view(texture.buffer(), nb::str("uint8"));
  return nb::module_::import_("numpy").attr("ndarray")(nb::tuple(shape), dtype_of(format.channel),
                                                       bytes, level.offset, nb::tuple(strides));
}

}  // namespace

const char* dtype_of(Channel channel) { return dtypes[static_cast<std::size_t>(channel)]; }

void define_textures(nb::module_& module, nb::class_<Device>& device) {
  const auto largest = [](const Texture& self) -> const TextureLevel& {
    return self.descriptor().levels.front();
  };
  nb::class_<Texture>(module, "Texture", "Texels shared by host and device.")
      .def_prop_ro("kind", [](const Texture& self) { return to_string(self.descriptor().type); })
      .def_prop_ro("format",
                   [](const Texture& self) { return to_string(self.descriptor().format); })
      .def_prop_ro("width", [largest](const Texture& self) { return largest(self).width; })
      .def_prop_ro("height", [largest](const Texture& self) { return largest(self).height; })
      .def_prop_ro(
          "slices", [largest](const Texture& self) { return largest(self).slices; },
          "Planes of a 3d texture, elements of an array, faces of its cubes, or samples.")
      .def_prop_ro("levels", [](const Texture& self) { return self.descriptor().levels.size(); })
      .def_prop_ro(
          "shared", [](const Texture& self) { return self.buffer().shared(); },
          "Whether it uses a NumPy array's own memory.")
      .def_prop_ro("resource_id", &resource_id,
                   "Handle for a buffer: eight bytes for a member such as `texture2d<float>`. The\n"
                   "dispatch must list the texture in `resources`. Raise Unsupported on a `metal`\n"
                   "device.")
      .def("numpy", &numpy_of, nb::arg("level") = 0,
           nb::sig("def numpy(self, level: int = 0) -> numpy.typing.NDArray[typing.Any]"),
           "Return a writable view of one mip level's texels, with an axis of components if there\n"
           "are several.");
  device.def("texture", &texture_from, nb::arg("array"), nb::arg("format") = nb::none(),
             nb::kw_only(), nb::arg("kind") = "2d",
             nb::sig("def texture(self, array: numpy.ndarray | list[numpy.ndarray], "
                     "format: str | None = None, *, kind: str = '2d') -> Texture"),
             "Make a texture on a NumPy array's own memory where possible (`shared`), else on a\n"
             "copy; a list gives the mip levels. `kind` is 1d, 1d_array, 2d, 2d_array, 2d_ms, 3d,\n"
             "cube, cube_array or buffer; axes are ([slices,] [rows,] columns[, components]).\n"
             "Without a `format` (such as rgba8unorm), uint8 means 8unorm, and other types map to\n"
             "the format of the same type. A format such as rgb10a2unorm takes one integer per\n"
             "texel. Raise DispatchError.");
}

}  // namespace metalbench::bindings
