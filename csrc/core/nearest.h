#pragma once

#include <string>
#include <vector>

namespace metalbench {

// "did you mean `x`?" of the known name that is nearest to `name`; empty where none is near.
[[nodiscard]] std::string did_you_mean(const std::string& name,
                                       const std::vector<std::string>& known);

}  // namespace metalbench
