#pragma once

#include <string>

#include "core/dispatch.h"

namespace metalbench {

// Why a texture or sampler argument cannot take this value; empty when it can.
[[nodiscard]] std::string mismatch(const Argument& argument, const Value& value);

}  // namespace metalbench
