#pragma once

#include <string>

namespace metalbench::executor {

// Convert text of unknown origin to UTF-8 without control characters; other bytes become "?".
[[nodiscard]] std::string readable(const std::string& text);

}  // namespace metalbench::executor
