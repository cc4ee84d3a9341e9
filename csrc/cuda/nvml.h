// What NVIDIA's management library tells of a GPU while it runs, where there is one.
#pragma once

#include <memory>
#include <string>

#include "core/types.h"

namespace metalbench::cuda {

class Nvml {
 public:
  virtual ~Nvml() = default;
  // Clocks, temperature, power, and why the clock is lower than it might be; what is not told is
  // left out.
  [[nodiscard]] virtual Facts state() const = 0;
};

// Of the GPU on this bus; null without the library.
[[nodiscard]] std::unique_ptr<Nvml> open_nvml(const std::string& bus);

}  // namespace metalbench::cuda
