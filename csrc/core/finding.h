// What checked runs find, where a run does not end with the first of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalbench {

// A line of the source that led to something; of inlined functions there is one for each.
struct Frame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// Of several of its rule at one place of the code: the first in the grid, and how many there were.
struct Finding {
  std::string rule;  // "race"
  std::string kernel;
  std::string message;
  std::uint64_t count = 1;
  // More than one: stands for places of this rule that are not listed, and has no place itself.
  std::uint64_t places = 1;
  // Where in the code: a shared object and offsets in it, the innermost first.
  std::string object;
  std::vector<std::uint64_t> offsets;
  // Likewise, of a variable that it is about, and of the other access of a race.
  std::optional<std::uint64_t> declared;
  std::vector<Frame> frames;  // what its debug information makes of them
};

}  // namespace metalbench
