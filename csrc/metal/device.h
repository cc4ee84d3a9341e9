#pragma once

#include <memory>
#include <string>

#include "core/artifacts.h"
#include "core/device.h"
#include "core/signature.h"

namespace metalbench::metal {

// Return why no Metal device exists, with a remedy; empty if one exists.
[[nodiscard]] std::string why_absent();

// Open the system's default GPU. `cache` names the files of compiled pipelines. `reader` reads
// types, address spaces and attributes from the source, which Metal's reflection does not report.
// Throws Unsupported.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<ArtifactCache> cache,
                                                  std::shared_ptr<SignatureReader> reader);

}  // namespace metalbench::metal
