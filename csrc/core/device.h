#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "core/dispatch.h"
#include "core/library.h"
#include "core/types.h"

namespace metalbench {

struct RunOptions {
  std::uint32_t passes = 1;  // how often the whole list of dispatches is run
  std::chrono::nanoseconds time_limit = std::chrono::seconds(10);
  InterruptPoll interrupted;  // may be empty
};

// Dispatches made ready for repeated runs; the device's own form of a command buffer.
class Program {
 public:
  virtual ~Program() = default;
  // Runs everything to completion, in order. Returns the time from the first dispatch's start to
  // the last one's end, in ns on the device's clock. Throws KernelFault, TimeLimitExceeded,
  // Interrupted; the device stays usable after each of them.
  virtual double run(const RunOptions& options) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual std::shared_ptr<Library> compile(const std::string& source,
                                                         const CompileOptions& options) = 0;
  // Zeroed and page-aligned.
  [[nodiscard]] virtual std::shared_ptr<Storage> allocate(std::size_t size) = 0;
  // Storage over the caller's memory, kept alive by `owner`; null where the device needs a copy.
  [[nodiscard]] virtual std::shared_ptr<Storage> wrap(std::span<std::byte> memory,
                                                      std::shared_ptr<void> owner) = 0;
  [[nodiscard]] virtual std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) = 0;
  // The same grids and bindings with kernels that do nothing: what a launch costs.
  [[nodiscard]] virtual std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) = 0;
  // Resolution of the clock that Program::run reports, in ns.
  [[nodiscard]] virtual double tick_ns() const = 0;
};

}  // namespace metalbench
