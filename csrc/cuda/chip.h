// What a GPU is called in the names of kernels' files and in their headers.
#pragma once

#include <string>

namespace metalbench::cuda {

// "h100" of "NVIDIA H100 80GB HBM3", "rtx_4070_ti" of "NVIDIA GeForce RTX 4070 Ti": no brand, no
// memory, no socket. Empty where the name has no model's number.
[[nodiscard]] std::string chip_of(const std::string& name);

}  // namespace metalbench::cuda
