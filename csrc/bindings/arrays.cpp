#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
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

bool is_array(const nb::object& object) { return nb::hasattr(object, "__array_interface__"); }
bool is_numpy_scalar(const nb::object& object) {
  return is_array(object) && nb::cast<std::size_t>(object.attr("ndim")) == 0;
}

// Read through __array_interface__, which also describes dtypes that NumPy itself does not know.
ArrayMemory memory_of(const nb::object& array) {
  const nb::object interface = array.attr("__array_interface__");
  if (!nb::cast<bool>(array.attr("flags")["C_CONTIGUOUS"])) {
    throw DispatchError(
        "array: expected C-contiguous memory, got strides; pass numpy.ascontiguousarray(array)");
  }
  const nb::object data = interface["data"];
  auto* begin = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(data[0]));
  return {{begin, nb::cast<std::size_t>(array.attr("nbytes"))}, !nb::cast<bool>(data[1])};
}

Bytes bytes_of(const nb::object& object) {
  const auto raw = nb::cast<nb::bytes>(object);
  const auto* begin = static_cast<const std::byte*>(raw.data());
  return {begin, begin + raw.size()};
}

// NumPy's name of an MSL scalar type; null where a Python number cannot stand for it.
const char* numpy_name(const std::string& type) {
  static const std::map<std::string, const char*> names = {
      {"bool", "bool"},          {"char", "int8"},       {"uchar", "uint8"},
      {"short", "int16"},        {"ushort", "uint16"},   {"int", "int32"},
      {"uint", "uint32"},        {"long", "int64"},      {"ulong", "uint64"},
      {"half", "float16"},       {"float", "float32"},   {"int8_t", "int8"},
      {"uint8_t", "uint8"},      {"int16_t", "int16"},   {"uint16_t", "uint16"},
      {"int32_t", "int32"},      {"uint32_t", "uint32"}, {"int64_t", "int64"},
      {"uint64_t", "uint64"},    {"size_t", "uint64"},   {"unsigned", "uint32"},
      {"unsigned int", "uint32"}};
  const auto found = names.find(type);
  return found == names.end() ? nullptr : found->second;
}

Bytes bytes_of_number(const PipelineInfo& kernel, const Argument& argument,
                      const nb::object& number) {
  const char* name = numpy_name(argument.type);
  const std::string where = "[" + kernel.name + "] " + argument.name;
  if (name == nullptr) {
    throw DispatchError(where + ": cannot turn a Python number into " + argument.type +
                        "; pass a NumPy array or bytes");
  }
  const nb::object numpy = nb::module_::import_("numpy");
  try {
    return bytes_of(numpy.attr(name)(number).attr("tobytes")());
  } catch (nb::python_error& error) {
    throw DispatchError(where + ": expected a value for " + argument.type + ", got " +
                        nb::cast<std::string>(nb::repr(number)));
  }
}

void check_scalar(const PipelineInfo& kernel, const Argument& argument, const nb::object& object,
                  std::size_t size) {
  if (argument.element_bytes == 0 || size == argument.element_bytes) return;
  throw DispatchError("[" + kernel.name + "] " + argument.name + ": expected " + argument.type +
                      " (" + std::to_string(argument.element_bytes) + " bytes), got " +
                      nb::cast<std::string>(nb::str(nb::object(object.attr("dtype")))) + " (" +
                      std::to_string(size) + " bytes)");
}

// One object, or as many as a list has.
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

Buffer buffer_from_array(Device& device, const nb::object& array) {
  const ArrayMemory memory = memory_of(array);
  if (memory.writable) {
    if (auto storage = device.wrap(memory.bytes, keep_alive(array)))
      return {std::move(storage), true};
  }
  Buffer copy(device.allocate(memory.bytes.size()), false);
  if (!memory.bytes.empty()) {
    std::memcpy(copy.bytes().data(), memory.bytes.data(), memory.bytes.size());
  }
  return copy;
}

nb::object numpy_view(const Buffer& buffer, const nb::object& dtype) {
  auto* held = new Buffer(buffer);
  const nb::capsule owner(held,
                          [](void* pointer) noexcept { delete static_cast<Buffer*>(pointer); });
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
  if (nb::isinstance<Buffer>(object)) return nb::cast<Buffer>(object);
  if (nb::isinstance<nb::bytes>(object)) return bytes_of(object);
  if (is_numpy_scalar(object)) {
    Bytes bytes = bytes_of(object.attr("tobytes")());
    check_scalar(kernel, argument, object, bytes.size());
    return bytes;
  }
  if (is_array(object)) {
    Buffer buffer = buffer_from_array(device, object);
    if (!buffer.shared() && argument.access == Access::read_write) {
      throw DispatchError("[" + kernel.name + "] " + argument.name +
                          ": the kernel writes to it, but the array is read-only or not aligned to "
                          "16 bytes; use Device.buffer() and read Buffer.numpy()");
    }
    return buffer;
  }
  return bytes_of_number(kernel, argument, object);
}

}  // namespace metalbench::bindings
