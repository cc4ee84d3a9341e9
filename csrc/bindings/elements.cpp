// Comparison of memory's element type with the kernel's.
#include <map>

#include "bindings/bindings.h"
#include "core/errors.h"

namespace metalbench::bindings {
namespace {

struct Kind {
  const char* numpy;
  std::size_t bytes;
  bool is_integer;
};

// In the order of Element.
constexpr Kind kinds[] = {{"any", 0, false},    {"bool", 1, true},     {"int8", 1, true},
                          {"uint8", 1, true},   {"int16", 2, true},    {"uint16", 2, true},
                          {"int32", 4, true},   {"uint32", 4, true},   {"int64", 8, true},
                          {"uint64", 8, true},  {"float16", 2, false}, {"bfloat16", 2, false},
                          {"float32", 4, false}};

const Kind& kind_of(Element element) { return kinds[static_cast<std::size_t>(element)]; }

bool is_extent(char letter) { return letter >= '2' && letter <= '4'; }

// "float" of "packed_float3", "float4x4" and "atomic_float".
std::string scalar_word(std::string type) {
  if (type.starts_with("atomic<") && type.ends_with('>')) type = type.substr(7, type.size() - 8);
  for (const std::string prefix : {"atomic_", "packed_"}) {
    if (type.starts_with(prefix)) type.erase(0, prefix.size());
  }
  if (type.size() < 4 || !is_extent(type.back())) return type;
  type.pop_back();
  const std::size_t end = type.size();
  if (type.back() == 'x' && is_extent(type[end - 2])) type.resize(end - 2);
  return type;
}

// Derive the type from the source's spelling where the device reports none: Metal's reflection
// omits atomics and matrices.
Element written_element(const std::string& type) {
  static const std::map<std::string, Element> names = {
      {"bool", Element::boolean},     {"char", Element::int8},
      {"uchar", Element::uint8},      {"short", Element::int16},
      {"ushort", Element::uint16},    {"int", Element::int32},
      {"uint", Element::uint32},      {"long", Element::int64},
      {"ulong", Element::uint64},     {"half", Element::float16},
      {"float", Element::float32},    {"int8_t", Element::int8},
      {"uint8_t", Element::uint8},    {"int16_t", Element::int16},
      {"uint16_t", Element::uint16},  {"int32_t", Element::int32},
      {"uint32_t", Element::uint32},  {"int64_t", Element::int64},
      {"uint64_t", Element::uint64},  {"size_t", Element::uint64},
      {"unsigned", Element::uint32},  {"unsigned int", Element::uint32},
      {"bfloat", Element::bfloat16},  {"bfloat16_t", Element::bfloat16},
      {"float16_t", Element::float16}};
  const auto found = names.find(scalar_word(type));
  return found == names.end() ? Element::any : found->second;
}

const Kind* integer_called(const std::string& dtype) {
  for (const Kind& kind : kinds) {
    if (kind.is_integer && dtype == kind.numpy) return &kind;
  }
  return nullptr;
}

bool is_raw(const std::string& dtype) { return dtype.empty() || dtype == "uint8"; }

bool fits(const Argument& argument, const std::string& dtype) {
  const Element element = element_of(argument);
  const Kind& kind = kind_of(element);
  if (element == Element::any || dtype == kind.numpy) return true;
  // NumPy has no bfloat16, and no pairs except complex numbers.
  if (element == Element::bfloat16) return dtype == "uint16";
  if (element == Element::float32) return dtype == "complex64" && argument.element_bytes % 8 == 0;
  const Kind* const given = integer_called(dtype);
  return kind.is_integer && given != nullptr && given->bytes == kind.bytes;
}

}  // namespace

Element element_of(const Argument& argument) {
  return argument.element == Element::any ? written_element(argument.type) : argument.element;
}

const char* numpy_name(Element element) { return kind_of(element).numpy; }

bool is_single_number(const Argument& argument) {
  const Kind& kind = kind_of(element_of(argument));
  return kind.bytes != 0 && (argument.element_bytes == 0 || argument.element_bytes == kind.bytes);
}

void check_memory(const PipelineInfo& kernel, const Argument& argument, const std::string& dtype,
                  std::size_t size) {
  const std::string type = argument.address_space + " " + argument.type;
  if (!is_raw(dtype) && !fits(argument, dtype)) {
    const std::string name = numpy_name(element_of(argument));
    const bool numpy_has_it = name != "bfloat16";
    reject_type(kernel, argument,
                "expected " + name + " for " + type + ", got " + dtype + "; " +
                    (numpy_has_it ? "pass array.astype(numpy." + name + ")"
                                  : "pass array.astype(ml_dtypes.bfloat16)") +
                    ", or its bytes as they are: array.view(numpy.uint8)");
  }
  if (size < argument.element_bytes && (size > 0 || argument.address_space == "constant")) {
    reject_value(kernel, argument,
                 "expected at least one " + type + " (" + std::to_string(argument.element_bytes) +
                     " bytes), got " + std::to_string(size) + " bytes");
  }
}

void reject_type(const PipelineInfo& kernel, const Argument& argument, const std::string& what) {
  throw ArgumentTypeError("[" + kernel.name + "] " + argument.name + ": " + what);
}

void reject_value(const PipelineInfo& kernel, const Argument& argument, const std::string& what) {
  throw DispatchError("[" + kernel.name + "] " + argument.name + ": " + what);
}

}  // namespace metalbench::bindings
