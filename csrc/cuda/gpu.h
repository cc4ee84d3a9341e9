// The GPU of a process: its context, its stream, and its state.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/driver.h"

namespace metalbench::cuda {

using Clock = std::chrono::steady_clock;

class Gpu {
 public:
  // A waiting host first spins for this time, so that it sees the end at once; then it rests.
  static constexpr auto busy_wait = std::chrono::milliseconds(2);
  static constexpr auto rest = std::chrono::microseconds(50);

  // Open the first GPU. Its context is created on first use, because that is slow. Throws
  // Unsupported.
  Gpu();

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] DeviceNumber number() const { return number_; }
  // Valid after the first use.
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] int attribute(int which) const;
  // Return the architecture, such as `sm_90`.
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] int driver_version() const { return driver_version_; }

  // Make the context current in the calling thread. Throws MachineError after lose().
  void use() const;
  // Throw OutOfMemoryError or Error for a failed call. `what` describes the failed operation. For a
  // fault throw KernelFault; Disturbed if all launched kernels had ended, so that another library
  // of the process has caused it.
  void check(Result result, const std::string& what) const;

  void launch(GraphExec graph) const;
  // Count a launch on a stream.
  void launched() const { ++launches_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  // Record that the first `launches` launches have ended without a fault.
  void completed(std::uint64_t launches) const;

  // Copy after all work on the stream, and wait for the end.
  void copy_in(Address to, const void* from, std::size_t bytes) const;
  void copy_out(void* to, Address from, std::size_t bytes) const;
  // Copy on the stream. The caller may change its memory after the return.
  void enqueue_copy_in(Address to, const void* from, std::size_t bytes) const;
  void enqueue_copy(Address to, Address from, std::size_t bytes, Stream stream) const;
  void enqueue_zeros(Address to, std::size_t bytes) const;

  // Mark the context as unusable after a kernel's fault or time-out.
  void lose(const std::string& why) const;
  [[nodiscard]] std::string lost() const;

  // Return the end time of the last completed window.
  [[nodiscard]] Clock::time_point last_end() const { return last_end_.load(); }
  void ended(Clock::time_point when) const { last_end_ = when; }

 private:
  void make_context() const;

  std::shared_ptr<const Driver> driver_;
  DeviceNumber number_ = 0;
  mutable std::once_flag made_;
  mutable Context context_ = nullptr;
  mutable Stream stream_ = nullptr;
  std::string architecture_;
  int driver_version_ = 0;
  mutable std::mutex mutex_;
  mutable std::string lost_;
  mutable std::atomic<Clock::time_point> last_end_{};
  mutable std::atomic<std::uint64_t> launches_{0}, completed_{0};
};

// Return whether an error makes the context unusable: a kernel's fault or a hardware error.
[[nodiscard]] bool is_fault(Result result);

}  // namespace metalbench::cuda
