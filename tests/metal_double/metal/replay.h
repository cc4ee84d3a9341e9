#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "buffer.h"
#include "commands.h"
#include "core/dispatch.h"
#include "timeline.h"

namespace metal_double {

// What the API's validation would not let pass.
class InvalidUse : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The recorded calls as dispatches of the engine: each different one, and the order in which they
// run; with the memory that they touch, as Metal knows it.
struct Replay {
  std::vector<metalbench::Dispatch> distinct;
  std::vector<std::uint32_t> order;
  std::vector<Use> uses;
  std::vector<DoubleBuffer*> resident;  // what is bound, and what useResource names
};

// Throws InvalidUse.
[[nodiscard]] Replay replay(const Pass& pass);

}  // namespace metal_double
