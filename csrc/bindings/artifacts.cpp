// Where compiled things are kept: metalbench.msl.cache, imported when first needed.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

class PythonCache final : public ArtifactCache {
 public:
  [[nodiscard]] std::string path(const std::vector<std::string>& contents,
                                 const std::string& suffix) override {
    const nb::gil_scoped_acquire gil;
    const nb::module_ cache = nb::module_::import_("metalbench.msl.cache");
    return nb::cast<std::string>(cache.attr("artifact")(contents, suffix));
  }
};

}  // namespace

std::shared_ptr<ArtifactCache> python_cache() { return std::make_shared<PythonCache>(); }

}  // namespace metalbench::bindings
