// Messages for undefined behaviour found by the instrumented code of a checked build.
#pragma once

#include <array>

#include "msl/mb/abi.h"

namespace metalbench::cpu {

void describe(const mb::Undefined& what, std::array<char, 512>& text);

}  // namespace metalbench::cpu
