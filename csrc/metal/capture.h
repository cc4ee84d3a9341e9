#pragma once

#include <memory>
#include <string>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Runs one window and leaves its GPU trace at `path`. Throws Unsupported where this process may
// not capture, Error when there is a file already or Metal refuses, and what the window throws.
void capture(Gpu& gpu, Program& program, const RunOptions& options, const std::string& path);

}  // namespace metalbench::metal
