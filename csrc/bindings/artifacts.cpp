// Cache of build results: metalbench.build_cache, imported on first use.
#include <nanobind/stl/string.h>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

class PythonCache final : public ArtifactCache {
 public:
  [[nodiscard]] std::string path(const std::vector<std::string>& contents,
                                 const std::string& suffix) override {
    const nb::gil_scoped_acquire gil;
    const nb::module_ cache = nb::module_::import_("metalbench.build_cache");
    // As bytes, because a source need not be UTF-8.
    nb::list parts;
    for (const std::string& part : contents) parts.append(nb::bytes(part.data(), part.size()));
    return nb::cast<std::string>(cache.attr("artifact")(parts, suffix));
  }
};

}  // namespace

std::shared_ptr<ArtifactCache> python_cache() { return std::make_shared<PythonCache>(); }

}  // namespace metalbench::bindings
