#pragma once

#include <string>
#include <vector>

namespace metalbench {

// File names for build results, derived from everything that the build depends on.
class ArtifactCache {
 public:
  virtual ~ArtifactCache() = default;
  // Return a path in an existing folder; the file may or may not exist. Throws Error.
  [[nodiscard]] virtual std::string path(const std::vector<std::string>& contents,
                                         const std::string& suffix) = 0;
};

}  // namespace metalbench
