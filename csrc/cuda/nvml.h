// NVIDIA's management library (NVML): state of a running GPU, where the library exists.
#pragma once

#include <memory>
#include <string>

#include "core/types.h"

namespace metalbench::cuda {

class Nvml {
 public:
  virtual ~Nvml() = default;
  // Return clocks, temperature, power, and reasons for a reduced clock; unavailable facts are
  // omitted.
  [[nodiscard]] virtual Facts state() const = 0;
};

// Open the GPU at this bus identifier; null without the library.
[[nodiscard]] std::unique_ptr<Nvml> open_nvml(const std::string& bus);

}  // namespace metalbench::cuda
