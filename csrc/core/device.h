#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/dispatch.h"
#include "core/finding.h"
#include "core/library.h"
#include "core/queue.h"
#include "core/types.h"

namespace metalbench {

struct RunOptions {
  std::uint32_t passes = 1;  // number of executions of the whole list of dispatches
  // Upper limit, on devices with command buffers; 0: the device chooses.
  std::uint32_t passes_per_command_buffer = 0;
  std::chrono::nanoseconds time_limit = std::chrono::seconds(10);
  InterruptPoll interrupted;        // may be empty
  std::vector<std::string> inputs;  // of a checked run: arguments that kernels must not write to
};

// Duration of one window, in ns.
struct Timing {
  // Busy time on the device's own clock: from start to end of the submitted work, without the gaps
  // between its parts. NaN if any part is unknown, for example for work of other libraries.
  double device_ns = 0;
  // The same from counters sampled at the encoder's boundaries; NaN without counters or on failure.
  double counter_ns = std::numeric_limits<double>::quiet_NaN();
  double wall_ns = 0;                 // from the start of encoding until the host sees the end
  double encode_ns = 0;               // time that the host spends until submission
  std::uint32_t command_buffers = 0;  // command buffers of the window; 0 if not counted
};

// A window that was submitted to the device.
class RunningWindow {
 public:
  // Wait for the end, also after an error: nothing writes to the buffers afterwards.
  virtual ~RunningWindow() = default;
  // Wait for the end. Throws KernelFault, TimeLimitExceeded, Interrupted. The device stays usable
  // after each of them, unless lost() then returns a reason. Call once.
  [[nodiscard]] virtual Timing wait() = 0;
};

// Dispatches prepared for repeated execution.
class Program {
 public:
  virtual ~Program() = default;
  // Submit a window: all dispatches in order, `passes` times. Windows of one device execute one
  // after the other, in the order of their start. A device may execute the window before it
  // returns, and then throws the errors of wait() here.
  [[nodiscard]] virtual std::unique_ptr<RunningWindow> start(const RunOptions& options) = 0;

  // Copy between separate host and device memory. Windows run between enter() and leave(): they see
  // host writes made before enter(), and the host sees their writes after leave(). For buffers
  // shared by several programs, the first enter() and the last leave() copy. After a fault the
  // host's data is unchanged. If enter() throws, the program has not been entered; if leave()
  // throws, it has been left.
  virtual void enter() {}
  virtual void leave() {}

  // Return the shortest window that can be timed precisely, in ns, without the submission latency.
  [[nodiscard]] virtual double least_window_ns() { return 0; }

  Timing run(const RunOptions& options);

  // Run a window of checked builds, which continues after findings, and return all findings. Throws
  // Unsupported without checked builds, and TimeLimitExceeded only if there are no findings.
  [[nodiscard]] virtual std::vector<Finding> check(const RunOptions& options);
};

// Residency scope: windows of these programs may run while it exists. Call leave() to end it. The
// destructor is for error paths, so it discards further errors.
class ResidencyScope {
 public:
  explicit ResidencyScope(std::initializer_list<Program*> programs);  // null pointers are skipped
  ~ResidencyScope();
  ResidencyScope(const ResidencyScope&) = delete;
  ResidencyScope& operator=(const ResidencyScope&) = delete;
  void leave();

 private:
  void leave_ignoring_errors();

  std::vector<Program*> programs_;
};

// The result of start() on a device that runs windows synchronously.
class FinishedWindow final : public RunningWindow {
 public:
  explicit FinishedWindow(Timing timing) : timing_(timing) {}
  [[nodiscard]] Timing wait() override { return timing_; }

 private:
  Timing timing_;
};

// The measurement of one window by an observer.
struct Observation {
  // Busy time of the device, in ns; NaN if no work was seen, some work failed, or some work has no
  // time stamps.
  double device_ns = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t command_buffers = 0;
};

// Observes the work that other code in this process (such as MLX) submits to a device.
class Observer {
 public:
  virtual ~Observer() = default;
  // Begin a window: it includes all work submitted from now on.
  virtual void begin() = 0;
  // End the window and wait for all of its work.
  [[nodiscard]] virtual Observation end() = 0;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual std::shared_ptr<Library> compile(const std::string& source,
                                                         const CompileOptions& options) = 0;
  // Allocate zeroed, page-aligned memory.
  [[nodiscard]] virtual std::shared_ptr<Storage> allocate(std::size_t size) = 0;
  // Use the caller's memory, which `owner` keeps alive, as storage; null where the device needs a
  // copy.
  [[nodiscard]] virtual std::shared_ptr<Storage> wrap(std::span<std::byte> memory,
                                                      std::shared_ptr<void> owner) = 0;
  // Return the descriptor of a texture for argument buffers: kernels read its address. Null where
  // the device does not support this.
  [[nodiscard]] virtual std::shared_ptr<const void> describe(const Texture& texture) const;
  [[nodiscard]] virtual std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) = 0;
  // Prepare the same grids and bindings with empty kernels, to measure the cost of a launch.
  [[nodiscard]] virtual std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) = 0;
  // Return a queue of launches. `checked`: for pipelines of checked builds.
  [[nodiscard]] virtual std::shared_ptr<Queue> make_queue(bool checked);
  // Return the resolution of the device's clock, in ns.
  [[nodiscard]] virtual double tick_ns() const = 0;
  // Return facts that may change between windows: power mode, temperature.
  [[nodiscard]] virtual Facts state() const { return {}; }
  // Return why the device is unusable for this process, however it is opened; empty while it works.
  [[nodiscard]] virtual std::string lost() const { return {}; }
  // Initialise in advance, so that the first use does not wait. Callable from any thread.
  virtual void make_ready() {}
  // Raises the QoS class of the calling thread until the result is released, on the same thread.
  // May be null.
  [[nodiscard]] virtual std::shared_ptr<void> raise_thread_qos() { return nullptr; }
  // Return an observer; null on devices without observation or without their own clock.
  [[nodiscard]] virtual std::unique_ptr<Observer> observe() { return nullptr; }
  // Run one window and write a GPU trace of it to `path`. Throws Unsupported.
  virtual void capture(Program& program, const RunOptions& options, const std::string& path);
};

}  // namespace metalbench
