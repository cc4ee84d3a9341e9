#pragma once

#include <memory>

#include "core/device.h"
#include "cpu/front_end.h"

namespace metalbench::cpu {

// Return the description of this machine's cpu device, also for executors.
[[nodiscard]] DeviceInfo device_info();

// Make a device that runs MSL on the host's cores. Results equal a GPU's. Checked runs detect
// undefined behaviour. Times are times of a simulation.
[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<FrontEnd> front_end);

}  // namespace metalbench::cpu
