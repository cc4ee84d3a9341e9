#pragma once

#import <Metal/Metal.h>

#include <chrono>
#include <memory>

#include "core/device.h"
#include "metal/encode.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// One committed command buffer: a window of passes of a script.
class Window final : public Running {
 public:
  // Encodes and commits. Throws Error when Metal gives no command encoder.
  Window(std::shared_ptr<Gpu> gpu, std::shared_ptr<const Script> script, const RunOptions& options);
  ~Window() override;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] Timing wait() override;

 private:
  void commit(std::uint32_t passes);
  [[nodiscard]] id<MTLComputeCommandEncoder> open_encoder(id<MTLCommandBuffer> buffer) const;
  [[nodiscard]] Clock::time_point deadline() const;
  [[nodiscard]] Timing await_timing();
  void await_end();
  // After its end: what it borrowed goes back.
  void leave() noexcept;
  // Before its end: nobody waits for it any more, and its memory stays until it has ended.
  void abandon() noexcept;
  [[nodiscard]] Timing timing() const;
  [[nodiscard]] double device_ns() const;
  [[nodiscard]] double counter_ns() const;

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<const Script> script_;
  std::chrono::nanoseconds limit_;
  InterruptPoll interrupted_;
  std::shared_ptr<Lane> lane_;
  std::shared_ptr<Completion> completion_ = std::make_shared<Completion>();
  std::shared_ptr<Completion> before_;  // the window before this one; may be null
  Clock::time_point begun_at_ = Clock::now();
  Clock::time_point committed_at_;
  bool left_ = false;  // after one of leave() and abandon()
};

// Waits until no window runs. Throws TimeLimitExceeded, Interrupted.
void await_idle(Gpu& gpu, const RunOptions& options);

}  // namespace metalbench::metal
