#pragma once

#include <string>

#include "core/dispatch.h"

namespace metalbench {

// Return why a texture or sampler argument does not accept this value; empty if it does.
[[nodiscard]] std::string mismatch(const Argument& argument, const Value& value);

}  // namespace metalbench
