// Findings of checked runs that continue after the first one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalbench {

// A source line of a call stack; inlined functions have one frame each.
struct Frame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// The first occurrence (in grid order) of one rule at one place in the code, and their number.
struct Finding {
  std::string rule;  // "race"
  std::string kernel;
  std::string message;
  std::uint64_t count = 1;
  // If more than 1: a summary of this many unlisted places of the rule, without a place itself.
  std::uint64_t places = 1;
  // Place in the code: a shared object and offsets in it, the innermost frame first.
  std::string object;
  std::vector<std::uint64_t> offsets;
  // Likewise, for the declaration of the variable, and for the other access of a race.
  std::optional<std::uint64_t> declared;
  std::vector<Frame> frames;  // source lines from the debug information
};

}  // namespace metalbench
