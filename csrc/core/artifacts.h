#pragma once

#include <string>
#include <vector>

namespace metalbench {

// Names files for what was compiled, by everything that it was compiled from.
class ArtifactCache {
 public:
  virtual ~ArtifactCache() = default;
  // In a folder that exists; the file itself may or may not. Throws Error when it cannot be made.
  [[nodiscard]] virtual std::string path(const std::vector<std::string>& contents,
                                         const std::string& suffix) = 0;
};

}  // namespace metalbench
