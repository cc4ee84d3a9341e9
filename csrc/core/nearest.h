#pragma once

#include <string>
#include <vector>

namespace metalbench {

// Return "did you mean `x`?" for the known name that is nearest to `name`; empty if none is near.
[[nodiscard]] std::string did_you_mean(const std::string& name,
                                       const std::vector<std::string>& known);

}  // namespace metalbench
