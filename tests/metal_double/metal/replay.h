#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "commands.h"
#include "core/dispatch.h"

namespace metal_double {

// What the API's validation would not let pass.
class InvalidUse : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The recorded calls as dispatches of the engine: each different one, and the order in which they
// run.
struct Replay {
  std::vector<metalbench::Dispatch> distinct;
  std::vector<std::uint32_t> order;
};

// Throws InvalidUse.
[[nodiscard]] Replay replay(const Pass& pass);

}  // namespace metal_double
