#pragma once

#include <memory>
#include <string>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Run one window and write its GPU trace to `path`. Throws Unsupported if this process may not
// capture, Error if the file exists or Metal refuses, and the errors of the window.
void capture(Gpu& gpu, Program& program, const RunOptions& options, const std::string& path);

}  // namespace metalbench::metal
