#pragma once

#include <memory>
#include <string>

#include "core/artifacts.h"
#include "core/device.h"
#include "cpu/front_end.h"

namespace metalbench::cuda {

// Why there is no GPU of NVIDIA's here, and what would help; empty when there is one.
[[nodiscard]] std::string why_absent();

// The first GPU that the driver names. `front_end` compiles to PTX, `cache` names the files of what
// the driver makes of it. Throws Unsupported.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<cpu::FrontEnd> front_end,
                                                  std::shared_ptr<ArtifactCache> cache);

}  // namespace metalbench::cuda
