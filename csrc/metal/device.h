#pragma once

#include <memory>
#include <string>

#include "core/artifacts.h"
#include "core/device.h"
#include "core/signature.h"

namespace metalbench::metal {

// Why there is no Metal device here, and what would help; empty when there is one.
[[nodiscard]] std::string why_absent();

// The system's default GPU. `cache` names the files of compiled pipelines; `reader` knows what
// Metal's reflection does not tell: types as written, address spaces, attributes. Throws
// Unsupported.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<ArtifactCache> cache,
                                                  std::shared_ptr<SignatureReader> reader);

}  // namespace metalbench::metal
