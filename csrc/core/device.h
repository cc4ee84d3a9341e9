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
#include "core/types.h"

namespace metalbench {

struct RunOptions {
  std::uint32_t passes = 1;  // how often the whole list of dispatches is run
  // At most, where the device takes command buffers; 0 leaves their number to the device.
  std::uint32_t passes_per_command_buffer = 0;
  std::chrono::nanoseconds time_limit = std::chrono::seconds(10);
  InterruptPoll interrupted;        // may be empty
  std::vector<std::string> inputs;  // of a check: arguments that kernels must not write to
};

// How long one window took, in ns.
struct Timing {
  // How long the device was busy, on its own clock: from start to end of what was handed over, but
  // for gaps between pieces of it. NaN where not all of that is known, as of what others ran.
  double device_ns = 0;
  // The same by counters sampled at the encoder's ends; NaN without them, or when they failed.
  double counter_ns = std::numeric_limits<double>::quiet_NaN();
  double wall_ns = 0;    // from before encoding until the host knows of the end
  double encode_ns = 0;  // the host's own work until the window was handed over
  std::uint32_t command_buffers = 0;  // that the window took; 0 where they are not counted
};

// A window that was handed to the device.
class Running {
 public:
  // Waits for the end, whatever it is: nothing writes to the buffers afterwards.
  virtual ~Running() = default;
  // Waits for the end. Throws KernelFault, TimeLimitExceeded, Interrupted; the device stays usable
  // after each of them, unless it then says that it is lost. To be called once.
  [[nodiscard]] virtual Timing wait() = 0;
};

// Dispatches made ready for repeated runs; the device's own form of a command buffer.
class Program {
 public:
  virtual ~Program() = default;
  // Hands over a window: everything in order, `passes` times. Windows of one device run one after
  // the other, in the order in which they were started. May itself run it to its end, and throw
  // what wait() would.
  [[nodiscard]] virtual std::unique_ptr<Running> start(const RunOptions& options) = 0;

  // Where host and device have memory of their own: windows run between the two, and find what the
  // host had written before enter(); the host finds what they wrote after leave(). Of buffers that
  // several programs share, the first enter() and the last leave() copy. After a fault the host
  // keeps what it has.
  // What enter() throws it has not entered; what leave() throws it has left.
  virtual void enter() {}
  virtual void leave() {}

  // Shorter windows say too little, in ns: of one whose way to the device is no part of it.
  [[nodiscard]] virtual double least_window_ns() { return 0; }

  Timing run(const RunOptions& options);

  // Runs a window of checked builds, which goes on after what they find, and returns all of it.
  // Throws Unsupported where there are none, TimeLimitExceeded only where nothing was found.
  [[nodiscard]] virtual std::vector<Finding> check(const RunOptions& options);
};

// While it is there, windows of these programs may run. To be ended by leave(): without that,
// something has failed, and whatever else does on the way out is of no interest.
class Stay {
 public:
  explicit Stay(std::initializer_list<Program*> programs);  // null ones count as none
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  void leave();

 private:
  void give_up();

  std::vector<Program*> programs_;
};

// Of a device that runs windows where they are started.
class Finished final : public Running {
 public:
  explicit Finished(Timing timing) : timing_(timing) {}
  [[nodiscard]] Timing wait() override { return timing_; }

 private:
  Timing timing_;
};

// What an observer saw of one window.
struct Observation {
  // How long the device was busy with it, in ns; NaN if there was nothing, something failed, or not
  // all of it told its time.
  double device_ns = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t command_buffers = 0;
};

// Sees what other code in this process runs on a device, such as MLX, for as long as it is there.
class Observer {
 public:
  virtual ~Observer() = default;
  // A window begins: what is handed to the device from now on is of it.
  virtual void begin() = 0;
  // Ends it, and waits until the device is done with all of it.
  [[nodiscard]] virtual Observation end() = 0;
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
  // What stands for a texture inside of a buffer: kernels get its address. Null where the device
  // has no such thing.
  [[nodiscard]] virtual std::shared_ptr<const void> describe(const Texture& texture) const;
  [[nodiscard]] virtual std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) = 0;
  // The same grids and bindings with kernels that do nothing: what a launch costs.
  [[nodiscard]] virtual std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) = 0;
  // Resolution of the device's clock, in ns.
  [[nodiscard]] virtual double tick_ns() const = 0;
  // What may change while it runs: power mode, heat.
  [[nodiscard]] virtual Facts state() const { return {}; }
  // Why nothing runs on it any more, whoever opens it in this process; empty as long as all is
  // well.
  [[nodiscard]] virtual std::string lost() const { return {}; }
  // Does now what the first use would wait for; called from any thread.
  virtual void make_ready() {}
  // Raises the QoS class of the calling thread until the result is released, on the same thread.
  // May be null.
  [[nodiscard]] virtual std::shared_ptr<void> raise_thread_qos() { return nullptr; }
  // Null where nothing can be seen, and where the device has no clock of its own.
  [[nodiscard]] virtual std::unique_ptr<Observer> observe() { return nullptr; }
  // Runs one window and leaves a GPU trace of it at `path`. Throws Unsupported.
  virtual void capture(Program& program, const RunOptions& options, const std::string& path);
};

}  // namespace metalbench
