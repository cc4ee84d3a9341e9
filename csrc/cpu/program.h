#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "core/device.h"
#include "cpu/fault.h"
#include "cpu/front_end.h"
#include "cpu/launch.h"
#include "cpu/pool.h"
#include "cpu/storages.h"

namespace metalbench::cpu {

struct ProgramContext {
  std::shared_ptr<Pool> pool;
  std::shared_ptr<FrontEnd> front_end;
  std::shared_ptr<const Storages> storages;
};

// Return the message of a fault in a launch, with its place in the source.
[[nodiscard]] std::string describe(const Launch& launch, const Fault& fault,
                                   const ProgramContext& context);
// Return the message of a launch that was stopped at a time limit.
[[nodiscard]] std::string describe_time_limit(const Launch& launch, const Fault& fault,
                                              const ProgramContext& context,
                                              std::chrono::nanoseconds limit);

[[nodiscard]] std::unique_ptr<Launch> make_launch(const Dispatch& dispatch,
                                                  const ProgramContext& context);
[[nodiscard]] std::unique_ptr<Program> make_program(std::span<const Dispatch> dispatches,
                                                    ProgramContext context);
// Make a program with the same number of launches of empty kernels.
[[nodiscard]] std::unique_ptr<Program> make_null_program(std::span<const Dispatch> dispatches,
                                                         ProgramContext context);

}  // namespace metalbench::cpu
