#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <memory>
#include <vector>

#include "core/device.h"
#include "metal/encode.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// A window of passes in command buffers. Each buffer is twice as long as the one before, up to the
// limit of RunOptions: the GPU begins while the host still encodes, as with MLX.
class Window final : public RunningWindow {
 public:
  // Encode and commit the whole window. Throws Error if Metal creates no command encoder.
  Window(std::shared_ptr<Gpu> gpu, std::shared_ptr<const Script> script, const RunOptions& options);
  ~Window() override;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] Timing wait() override;

 private:
  // Return the number of committed command buffers.
  [[nodiscard]] std::size_t commit(const std::vector<std::uint32_t>& passes);
  [[nodiscard]] bool commit(std::uint32_t passes, bool is_first, bool is_last);
  [[nodiscard]] id<MTLComputeCommandEncoder> open_encoder(id<MTLCommandBuffer> buffer,
                                                          bool is_first, bool is_last) const;
  // Open the queue that the script needs. Windows of both queues do not overlap.
  void open_queue(const RunOptions& options);
  [[nodiscard]] Clock::time_point deadline() const;
  [[nodiscard]] Timing await_timing();
  void await_end();
  // Release borrowed resources after the end.
  void leave() noexcept;
  // Stop waiting before the end; the window's memory stays alive until it has ended.
  void abandon() noexcept;
  [[nodiscard]] Timing timing() const;
  [[nodiscard]] double device_ns() const;
  [[nodiscard]] double counter_ns() const;

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<const Script> script_;
  std::chrono::nanoseconds limit_;
  InterruptPoll interrupted_;
  std::shared_ptr<OrderedQueue> ordered_queue_;
  std::shared_ptr<Completion> completion_;
  std::shared_ptr<Completion> before_;  // the previous window; may be null
  Clock::time_point begun_at_ = Clock::now();
  Clock::time_point committed_at_;
  bool left_ = false;  // after leave() or abandon()
};

// Wait until no window runs. Throws TimeLimitExceeded, Interrupted.
void await_idle(Gpu& gpu, const RunOptions& options);

}  // namespace metalbench::metal
