// Words for what the instrumented code of a checked build has found.
#pragma once

#include <array>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

void describe(const mb::Undefined& what, std::array<char, 512>& text);

}  // namespace metalbench::cpu
