#pragma once

#include <memory>

#include "core/device.h"
#include "cpu/front_end.h"

namespace metalbench::cpu {

// What this machine's cpu device is, wherever it runs.
[[nodiscard]] DeviceInfo device_info();

// MSL on the host's own cores: same results as a GPU, every undefined behaviour caught on request,
// and times that are those of a simulation.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<FrontEnd> front_end);

}  // namespace metalbench::cpu
