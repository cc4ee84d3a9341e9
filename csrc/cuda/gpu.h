// The GPU of a process: its context, its stream, and whether it still works.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/driver.h"

namespace metalbench::cuda {

using Clock = std::chrono::steady_clock;

class Gpu {
 public:
  // The first one; its context is made when it is first used, which takes longer than all else.
  // Throws Unsupported.
  Gpu();

  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] DeviceNumber number() const { return number_; }
  // Of a GPU that has been used.
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] int attribute(int which) const;
  // Such as `sm_90`.
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] int driver_version() const { return driver_version_; }

  // Lets the calling thread use it. Throws MachineError once it is lost.
  void use() const;
  // Throws what a failed call means: OutOfMemoryError, or Error. `what` is what could not be done.
  void check(Result result, const std::string& what) const;

  // Returns when it is there. A copy on no stream would not: it may still be under way, and
  // kernels on a stream do not wait for it.
  void copy_in(Address to, const void* from, std::size_t bytes) const;
  void copy_out(void* to, Address from, std::size_t bytes) const;

  // A kernel's fault, or one that does not end, leaves a context that nothing works in any more.
  void lose(const std::string& why) const;
  [[nodiscard]] std::string lost() const;

  // When the window that was waited for last had ended.
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
};

// Whether nothing works after it: what a kernel did, or what the hardware suffered.
[[nodiscard]] bool is_fault(Result result);

}  // namespace metalbench::cuda
