#pragma once

#include <memory>
#include <span>

#include "core/device.h"
#include "cpu/front_end.h"
#include "cpu/pool.h"
#include "cpu/storages.h"

namespace metalbench::cpu {

struct ProgramContext {
  std::shared_ptr<Pool> pool;
  std::shared_ptr<FrontEnd> front_end;
  std::shared_ptr<const Storages> storages;
};

[[nodiscard]] std::unique_ptr<Program> make_program(std::span<const Dispatch> dispatches,
                                                    ProgramContext context);
// Make a program with the same number of launches of empty kernels.
[[nodiscard]] std::unique_ptr<Program> make_null_program(std::span<const Dispatch> dispatches,
                                                         ProgramContext context);

}  // namespace metalbench::cpu
