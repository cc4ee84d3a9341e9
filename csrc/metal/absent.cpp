// Replacement of the Metal device on systems without Metal.
#include "core/errors.h"
#include "metal/device.h"

namespace metalbench::metal {

std::string why_absent() {
  return "this build has no Metal device; it needs a Mac. Use the `cpu` device";
}

std::shared_ptr<Device> make_device(std::shared_ptr<ArtifactCache> /*cache*/,
                                    std::shared_ptr<SignatureReader> /*reader*/) {
  throw Unsupported("metal: " + why_absent());
}

}  // namespace metalbench::metal
