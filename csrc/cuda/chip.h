// Names of GPUs in kernels' file names and header lines.
#pragma once

#include <string>

namespace metalbench::cuda {

// Return "h100" for "NVIDIA H100 80GB HBM3", "rtx_4070_ti" for "NVIDIA GeForce RTX 4070 Ti":
// without brand, memory and form factor. Empty if the name has no model number.
[[nodiscard]] std::string chip_of(const std::string& name);

}  // namespace metalbench::cuda
