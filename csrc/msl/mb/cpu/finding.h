// Reports of undefined behaviour from a checked build's code to the runtime.
#pragma once

namespace mb {

using FindingNumber = unsigned int;

enum class Finding : FindingNumber {
  division_by_zero,
  shift,             // by a negative number, or by at least the number of bits
  conversion,        // of a floating-point number that is outside of the integer type
  subscript,         // of an array, a vector or a matrix
  uninitialised,
  signed_overflow,   // of a sum, difference, product or negation
  member,            // `value` is the begin of an array member of a struct, and the offset of an
                     // access from there; `type[1]` is null
  special_value,     // `value` is 1 if it is NaN, 0 if it is an infinity
  texel,             // outside of its texture; `value` is the address of an OutsideTexel
};

namespace types {
struct Texture;
}
using namespace types;

// A texel access outside of its texture.
struct OutsideTexel {
  const Texture* texture;
  unsigned int place[3];
  unsigned int level;
  bool is_write;
};

// Clang's description of a type for its handlers.
struct TypeDescriptor {
  unsigned short kind;  // 0: an integer; 1: a floating-point number
  unsigned short info;  // integer: signed in bit 0, above it log2 of its bits; else bits
  char name[1];         // in quotes

  bool is_integer() const { return kind == 0; }
  bool is_signed() const { return is_integer() && (info & 1) != 0; }
  unsigned bits() const { return is_integer() ? 1u << (info >> 1) : info; }
};

// Values hold the bits of numbers up to 64 bits wide. Types may be null.
struct Undefined {
  Finding finding;
  const TypeDescriptor* type[2];
  unsigned long long value[2];
  const char* name;  // of a variable; null: none
  const void* pc;    // return address of the call to the check
};

}  // namespace mb
