#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "core/errors.h"

namespace metalbench::bindings {
namespace {

struct ArrayMemory {
  std::span<std::byte> bytes;
  bool writable = false;
};

bool is_array(const nb::object& object) {
  return nb::hasattr(object, "__array_interface__") && nb::hasattr(object, "dtype");
}

bool is_scalar(const nb::object& array) { return nb::cast<std::size_t>(array.attr("ndim")) == 0; }

void check_plain(const nb::object& array, const std::string& where) {
  const nb::object dtype = array.attr("dtype");
  if (nb::cast<bool>(dtype.attr("hasobject"))) {
    throw ArgumentTypeError(where + ": expected numbers, got " + dtype_name(array) +
                            "s of Python; pass array.astype(numpy.float32) or the like");
  }
  if (!nb::cast<bool>(dtype.attr("isnative"))) {
    throw ArgumentTypeError(where + ": expected this machine's byte order, got " +
                            nb::cast<std::string>(nb::str(nb::object(dtype.attr("str")))) +
                            "; pass array.astype(array.dtype.newbyteorder('='))");
  }
}

// Read through __array_interface__, which also describes dtypes unknown to NumPy.
ArrayMemory memory_of(const nb::object& array, const std::string& where) {
  check_plain(array, where);
  const nb::object interface = array.attr("__array_interface__");
  if (!nb::cast<bool>(array.attr("flags")["C_CONTIGUOUS"])) {
    throw DispatchError(where +
                        ": expected C-contiguous memory, got strides; pass "
                        "numpy.ascontiguousarray(array)");
  }
  const nb::object data = interface["data"];
  auto* begin = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(data[0]));
  return {{begin, nb::cast<std::size_t>(array.attr("nbytes"))}, !nb::cast<bool>(data[1])};
}

Buffer buffer_over(Device& device, const nb::object& array, const std::string& where) {
  const ArrayMemory memory = memory_of(array, where);
  if (memory.writable) {
    if (auto storage = device.wrap(memory.bytes, keep_alive(array)))
      return {std::move(storage), true, dtype_name(array)};
  }
  Buffer copy(device.allocate(memory.bytes.size()), false, dtype_name(array));
  if (!memory.bytes.empty()) {
    std::memcpy(copy.bytes().data(), memory.bytes.data(), memory.bytes.size());
  }
  return copy;
}

Value bytes_of_scalar(const PipelineInfo& kernel, const Argument& argument,
                      const nb::object& scalar) {
  const std::string dtype = dtype_name(scalar);
  const bool is_struct = nb::hasattr(scalar.attr("dtype").attr("names"), "__len__");
  if (!is_struct && dtype != numpy_name(element_of(argument))) {
    return bytes_of_number(kernel, argument, scalar);
  }
  check_plain(scalar, "[" + kernel.name + "] " + argument.name);
  Bytes bytes = bytes_of(scalar.attr("tobytes")());
  check_memory(kernel, argument, dtype, bytes.size());
  return bytes;
}

Value memory_for(Device& device, const PipelineInfo& kernel, const Argument& argument,
                 const nb::object& array) {
  Buffer buffer = buffer_over(device, array, "[" + kernel.name + "] " + argument.name);
  check_memory(kernel, argument, buffer.dtype(), buffer.size());
  if (!buffer.shared() && argument.access == Access::read_write) {
    reject_value(kernel, argument,
                 "the kernel writes to it, but the array is read-only or not aligned to 16 bytes; "
                 "use Device.buffer() and read Buffer.numpy()");
  }
  return buffer;
}

// Convert one object, or each element of a list.
template <typename T>
std::optional<std::vector<T>> list_of(const nb::object& object) {
  std::vector<T> found;
  if (nb::isinstance<T>(object)) return std::vector<T>{nb::cast<T>(object)};
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return {};
  for (const nb::handle item : object) {
    if (!nb::isinstance<T>(item)) return {};
    found.push_back(nb::cast<T>(item));
  }
  return found;
}

Value texture_or_sampler(const PipelineInfo& kernel, const Argument& argument,
                         const nb::object& object) {
  if (argument.kind == ArgumentKind::sampler) {
    if (auto samplers = list_of<Sampler>(object)) return *samplers;
  } else if (auto textures = list_of<Texture>(object)) {
    return *textures;
  }
  const bool sampler = argument.kind == ArgumentKind::sampler;
  throw DispatchError("[" + kernel.name + "] " + argument.name + ": expected a " +
                      to_string(argument.kind) + " for " + argument.type + ", got " +
                      nb::cast<std::string>(object.type().attr("__name__")) + "; make one with " +
                      (sampler ? "Sampler()" : "Device.texture(array)"));
}

}  // namespace

std::string dtype_name(const nb::handle& array) {
  return nb::cast<std::string>(nb::str(nb::object(array.attr("dtype").attr("name"))));
}

Bytes bytes_of(const nb::object& object) {
  const auto raw = nb::cast<nb::bytes>(object);
  const auto* begin = static_cast<const std::byte*>(raw.data());
  return {begin, begin + raw.size()};
}

Buffer buffer_from_array(Device& device, const nb::object& array) {
  if (!is_array(array)) {
    throw ArgumentTypeError("array: expected a NumPy array, got " + described(array));
  }
  return buffer_over(device, array, "array");
}

nb::object numpy_view(const Buffer& buffer, const nb::object& dtype) {
  auto* held = new Buffer(buffer);
  held->storage()->hold_view();
  const nb::capsule owner(held, [](void* pointer) noexcept {
    auto* ended = static_cast<Buffer*>(pointer);
    ended->storage()->release_view();
    delete ended;
  });
  const std::size_t size = buffer.size();
  nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> bytes(buffer.bytes().data(), {size}, owner);
  return nb::cast(bytes, nb::rv_policy::reference).attr("view")(dtype);
}

Value value_from_python(Device& device, const PipelineInfo& kernel, const Argument& argument,
                        const nb::object& object) {
  if (argument.kind == ArgumentKind::texture || argument.kind == ArgumentKind::sampler) {
    return texture_or_sampler(kernel, argument, object);
  }
  if (nb::isinstance<Texture>(object)) return Textures{nb::cast<Texture>(object)};
  if (nb::isinstance<Sampler>(object)) return Samplers{nb::cast<Sampler>(object)};
  if (nb::isinstance<Buffer>(object)) {
    auto buffer = nb::cast<Buffer>(object);
    // Plain bytes fit every type.
    const bool is_plain = buffer.dtype().empty() && argument.address_space != "constant";
    check_memory(kernel, argument, buffer.dtype(),
                 is_plain ? argument.element_bytes : buffer.size());
    return buffer;
  }
  if (nb::isinstance<nb::bytes>(object)) {
    Bytes bytes = bytes_of(object);
    check_memory(kernel, argument, "", bytes.size());
    return bytes;
  }
  if (!is_array(object)) return bytes_of_number(kernel, argument, object);
  if (is_scalar(object)) return bytes_of_scalar(kernel, argument, object);
  return memory_for(device, kernel, argument, object);
}

}  // namespace metalbench::bindings
