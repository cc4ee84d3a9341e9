#include "metal/function_constants.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "metal/data_types.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

std::string to_text(const ConstantScalar& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", std::get<double>(value));
  return text;
}

std::vector<ConstantScalar> components_of(const ConstantValue& value) {
  if (const auto* vector = std::get_if<std::vector<ConstantScalar>>(&value)) return *vector;
  if (const bool* flag = std::get_if<bool>(&value)) return {*flag};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer};
  return {std::get<double>(value)};
}

std::string to_text(const ConstantValue& value) {
  const auto components = components_of(value);
  if (!std::holds_alternative<std::vector<ConstantScalar>>(value)) return to_text(components[0]);
  std::string text;
  for (const ConstantScalar& component : components) {
    text += (text.empty() ? "" : ", ") + to_text(component);
  }
  return "(" + text + ")";
}

std::string to_text(const ConstantKey& key) {
  if (const auto* name = std::get_if<std::string>(&key)) return "'" + *name + "'";
  return std::to_string(std::get<std::uint32_t>(key));
}

double as_double(const ConstantScalar& value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

std::uint16_t bfloat_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Bytes of one constant; a vector of three occupies the space of four.
struct Encoded {
  alignas(32) std::byte bytes[32] = {};
  std::size_t used = 0;
  std::string trouble;  // expected value, if the value does not fit

  template <class T>
  void append(T value) {
    std::memcpy(bytes + used, &value, sizeof value);
    used += sizeof value;
  }

  template <class T>
  void append_integer(const ConstantScalar& value) {
    if (const double* number = std::get_if<double>(&value)) {
      constexpr double beyond = 9223372036854775808.0;  // 2^63
      if (*number != std::trunc(*number) || !(std::abs(*number) < beyond)) return reject<T>();
      return append_integer<T>(static_cast<std::int64_t>(*number));
    }
    const std::int64_t integer = std::holds_alternative<bool>(value)
                                     ? std::int64_t{std::get<bool>(value)}
                                     : std::get<std::int64_t>(value);
    if (!std::in_range<T>(integer)) return reject<T>();
    append(static_cast<T>(integer));
  }

  void append_bool(const ConstantScalar& value) {
    const double number = as_double(value);
    if (number != 0 && number != 1) trouble = "give True or False";
    append(static_cast<std::uint8_t>(number != 0));
  }

  template <class T>
  void reject() {
    trouble = "give an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
              std::to_string(std::numeric_limits<T>::max());
  }
};

void append(Encoded& encoded, Element type, const ConstantScalar& value) {
  switch (type) {
    case Element::any:  // constants never have this type
      return;
    case Element::boolean:
      return encoded.append_bool(value);
    case Element::int8:
      return encoded.append_integer<std::int8_t>(value);
    case Element::uint8:
      return encoded.append_integer<std::uint8_t>(value);
    case Element::int16:
      return encoded.append_integer<std::int16_t>(value);
    case Element::uint16:
      return encoded.append_integer<std::uint16_t>(value);
    case Element::int32:
      return encoded.append_integer<std::int32_t>(value);
    case Element::uint32:
      return encoded.append_integer<std::uint32_t>(value);
    case Element::int64:
      return encoded.append_integer<std::int64_t>(value);
    case Element::uint64:
      return encoded.append_integer<std::uint64_t>(value);
    case Element::float16:
      return encoded.append(static_cast<_Float16>(as_double(value)));
    case Element::bfloat16:
      return encoded.append(bfloat_bits(static_cast<float>(as_double(value))));
    case Element::float32:
      return encoded.append(static_cast<float>(as_double(value)));
  }
}

Encoded encode(MTLFunctionConstant* declared, const ConstantValue& value,
               const std::string& function) {
  const std::string wanted = "[" + function + "] constant " + to_string(declared.name) +
                             ": expected " + type_name(declared.type) + ", got " + to_text(value);
  const auto type = vector_type(declared.type);
  if (!type) throw CompileError(wanted + "; Metal does not support constants of this type");
  const bool is_vector = std::holds_alternative<std::vector<ConstantScalar>>(value);
  const auto components = components_of(value);
  if (is_vector != (type->components > 1) || components.size() != type->components) {
    throw CompileError(
        wanted + (type->components > 1
                      ? "; give a sequence of " + std::to_string(type->components) + " numbers"
                      : "; give one number"));
  }
  Encoded encoded;
  for (const ConstantScalar& component : components) append(encoded, type->scalar, component);
  if (!encoded.trouble.empty()) throw CompileError(wanted + "; " + encoded.trouble);
  return encoded;
}

MTLFunctionConstant* find(id<MTLFunction> function, const ConstantKey& key) {
  NSDictionary<NSString*, MTLFunctionConstant*>* const declared =
      function.functionConstantsDictionary;
  if (const auto* name = std::get_if<std::string>(&key)) return declared[to_ns(*name)];
  for (NSString* name in declared) {
    MTLFunctionConstant* const constant = declared[name];
    if (constant.index == std::get<std::uint32_t>(key)) return constant;
  }
  return nil;
}

// Constants of other functions are permitted; they have no effect here.
bool is_declared(id<MTLLibrary> library, const ConstantKey& key) {
  for (NSString* name in library.functionNames) {
    if (find([library newFunctionWithName:name], key) != nil) return true;
  }
  return false;
}

std::string known(id<MTLFunction> function) {
  std::map<NSUInteger, std::string> by_index;
  NSDictionary<NSString*, MTLFunctionConstant*>* const declared =
      function.functionConstantsDictionary;
  for (NSString* name in declared) by_index[declared[name].index] = to_string(name);
  std::string text;
  for (const auto& [index, name] : by_index) {
    text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(index) + ")";
  }
  return text.empty() ? "none, the function uses no function constants" : text;
}

}  // namespace

MTLFunctionConstantValues* constant_values(const FunctionConstants& constants,
                                           id<MTLFunction> function, id<MTLLibrary> library,
                                           const std::string& name) {
  MTLFunctionConstantValues* const values = [[MTLFunctionConstantValues alloc] init];
  for (const auto& [key, value] : constants) {
    MTLFunctionConstant* const declared = find(function, key);
    if (declared != nil) {
      const Encoded encoded = encode(declared, value, name);
      [values setConstantValue:encoded.bytes type:declared.type atIndex:declared.index];
    } else if (!is_declared(library, key)) {
      throw CompileError("[" + name + "] constants: no function constant is called " +
                         to_text(key) + "; expected " + known(function));
    }
  }
  return values;
}

std::string describe(const FunctionConstants& constants) {
  std::string text;
  for (const auto& [key, value] : constants) {
    text += to_text(key) + "=" + std::to_string(value.index()) + ":" + to_text(value) + ";";
  }
  return text;
}

}  // namespace metalbench::metal
