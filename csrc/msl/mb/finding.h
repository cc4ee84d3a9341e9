// What the instrumented code of a checked build hands to the runtime when it meets something undefined.
#pragma once

namespace mb {

using FindingNumber = unsigned int;

enum class Finding : FindingNumber {
  other,             // whatever the runtime finds by itself
  division_by_zero,
  shift,             // by less than 0, or by as many bits as there are
  conversion,        // of a floating-point number that the integer type does not have
  subscript,         // of an array, a vector or a matrix
  null_pointer,
  red_zone,          // private memory beside a variable
  uninitialised,
};

// The tool that a finding belongs to.
constexpr const char* tool_of(Finding finding) {
  switch (finding) {
    case Finding::division_by_zero:
    case Finding::shift:
    case Finding::conversion:
      return "arithmetic";
    case Finding::subscript:
    case Finding::null_pointer:
    case Finding::red_zone:
      return "mem";
    case Finding::uninitialised:
      return "init";
    case Finding::other:
      break;
  }
  return "";
}

constexpr const char* name_of(Finding finding) {
  constexpr const char* names[] = {"other",     "division-by-zero", "shift",    "conversion",
                                   "subscript", "null-pointer",     "red-zone", "uninitialised"};
  return names[static_cast<FindingNumber>(finding)];
}

// A type as clang describes it to its handlers.
struct TypeDescriptor {
  unsigned short kind;  // 0: an integer; 1: a floating-point number
  unsigned short info;  // an integer: signed in bit 0, above it the logarithm of its bits; else bits
  char name[1];         // in quotes

  bool is_integer() const { return kind == 0; }
  bool is_signed() const { return is_integer() && (info & 1) != 0; }
  unsigned bits() const { return is_integer() ? 1u << (info >> 1) : info; }
};

// Values are the bits of numbers up to 64 bits wide. Types may be null.
struct Undefined {
  Finding finding;
  const TypeDescriptor* type[2];
  unsigned long long value[2];
  const char* name;  // of a variable; null: none
  const void* pc;    // where the call to the check returns
};

}  // namespace mb
