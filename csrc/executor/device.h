// A cpu device whose kernels run in executors: sealed processes without other data.
#pragma once

#include <memory>

#include "core/device.h"
#include "cpu/front_end.h"
#include "executor/host.h"

namespace metalbench::executor {

// Kernels that share a process: those of one source, or all of the device.
enum class Sharing { source, device };

[[nodiscard]] std::shared_ptr<Device> make_device(std::shared_ptr<cpu::FrontEnd> front_end,
                                                  std::shared_ptr<Host> host, Sharing sharing);

}  // namespace metalbench::executor
