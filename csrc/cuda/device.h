#pragma once

#include <memory>
#include <string>

#include "core/artifacts.h"
#include "core/device.h"
#include "cpu/front_end.h"

namespace metalbench::cuda {

// Return why no NVIDIA GPU is available, with a remedy; empty if one is.
[[nodiscard]] std::string why_absent();

// Open the driver's first GPU. `front_end` compiles to PTX; `cache` names the files of the driver's
// binaries. Throws Unsupported.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<cpu::FrontEnd> front_end,
                                                  std::shared_ptr<ArtifactCache> cache);

}  // namespace metalbench::cuda
