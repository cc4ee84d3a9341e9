#pragma once

#include <string>

namespace metalbench::executor {

// Text of unknown origin as UTF-8 without control characters; what is neither becomes "?".
[[nodiscard]] std::string readable(const std::string& text);

}  // namespace metalbench::executor
