#include "cpu/undefined.h"

#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace metalbench::cpu {
namespace {

// Clang puts type names in quotes and appends the underlying type: `'uint' (aka 'unsigned int')`.
// Names that the front end has added are removed.
std::string name_of(const mb::TypeDescriptor& type) {
  const std::string text = type.name;
  const std::size_t own = text.starts_with("'mb") ? text.rfind("(aka '") : std::string::npos;
  const std::size_t begin = text.find('\'', own == std::string::npos ? 0 : own) + 1;
  std::string name = text.substr(begin, text.find('\'', begin) - begin);
  const std::size_t wordy = name.find("unsigned ");
  return wordy == std::string::npos ? name : name.replace(wordy, 9, "u");
}

std::string integer(const mb::TypeDescriptor& type, std::uint64_t bits) {
  if (!type.is_signed()) return std::to_string(bits);
  const unsigned unused = 64 - (type.bits() < 64 ? type.bits() : 64);
  return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
}

float half_of(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, rest = bits & 1023;
  if (exponent == 0) {
    const float small = static_cast<float>(rest) * 0x1p-24F;
    return sign != 0 ? -small : small;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | rest << 13);
}

std::string floating(const mb::TypeDescriptor& type, std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  const bool is_brain = name_of(type).find("bf") != std::string::npos;
  double value = std::bit_cast<float>(low);
  if (type.bits() == 64) value = std::bit_cast<double>(bits);
  if (type.bits() == 16) value = is_brain ? std::bit_cast<float>(low << 16) : half_of(low);
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string division(const mb::Undefined& what) {
  return "integer division by zero: " + integer(*what.type[0], what.value[0]) +
         " / 0; the result is undefined in Metal";
}

std::string shift(const mb::Undefined& what) {
  const std::string bits = std::to_string(what.type[0]->bits());
  return "shift of `" + name_of(*what.type[0]) + "` by " + integer(*what.type[1], what.value[1]) +
         ": expected 0 to " + std::to_string(what.type[0]->bits() - 1) +
         "; Metal takes the amount modulo " + bits;
}

std::string conversion(const mb::Undefined& what) {
  return "conversion of " + floating(*what.type[0], what.value[0]) + " to `" +
         name_of(*what.type[1]) +
         "`, which cannot represent it; Metal saturates, and converts NaN to 0";
}

std::string overflow(const mb::Undefined& what) {
  const std::string first = integer(*what.type[0], what.value[0]);
  const std::string computed =
      what.name == nullptr ? "-(" + first + ")"
                           : first + " " + what.name + " " + integer(*what.type[1], what.value[1]);
  return "signed overflow: " + computed + " does not fit `" + name_of(*what.type[0]) +
         "`; Apple's GPUs wrap, and a compiler may assume that it never happens";
}

std::string subscript(const mb::Undefined& what) {
  if (what.type[0] == nullptr) {
    return "subscript out of bounds: " + std::to_string(static_cast<std::int64_t>(what.value[0])) +
           " of " + std::string(what.name) + " of " + std::to_string(what.value[1]);
  }
  std::string of = "`" + name_of(*what.type[0]) + "`";
  if (what.name != nullptr) of = "`" + std::string(what.name) + "`, " + of;
  return "subscript out of bounds: " + integer(*what.type[1], what.value[0]) + " of " + of;
}

std::string in_words(const mb::Undefined& what) {
  switch (what.finding) {
    case mb::Finding::division_by_zero:
      return division(what);
    case mb::Finding::shift:
      return shift(what);
    case mb::Finding::conversion:
      return conversion(what);
    case mb::Finding::subscript:
      return subscript(what);
    case mb::Finding::uninitialised:
      return what.name == nullptr ? "an uninitialised value decides a branch or an address"
                                  : what.name;
    case mb::Finding::signed_overflow:
      return overflow(what);
    case mb::Finding::member:
      return "access out of bounds of " + std::string(what.name) + ": at byte " +
             std::to_string(static_cast<std::int64_t>(what.value[1])) +
             " from its first, in another member of the same struct";
    case mb::Finding::special_value:
      return std::string("fast math computes ") + (what.value[0] != 0 ? "NaN" : "an infinity") +
             ", or with one; the compiler of macOS 14 may assume that there is none";
    default:
      return what.name == nullptr ? "undefined behaviour" : what.name;
  }
}

}  // namespace

void describe(const mb::Undefined& what, std::array<char, 512>& text) {
  std::snprintf(text.data(), text.size(), "%s", in_words(what).c_str());
}

}  // namespace metalbench::cpu
