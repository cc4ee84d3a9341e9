#include "metal/gpu.h"

#include <utility>
#include <vector>

#include "core/errors.h"

namespace metalbench::metal {

using namespace std::chrono_literals;

NSString* const queue_label = @"metalbench";

namespace {

// Limit per queue; above it Metal makes the host wait for the GPU. Enough for three windows of 60
// ms in command buffers of 50 us.
constexpr NSUInteger most_command_buffers = 4096;

}  // namespace

Gpu::Gpu(id<MTLDevice> device, Capabilities capabilities)
    : device_(device),
      capabilities_(std::move(capabilities)),
      residency_(std::make_shared<Residency>(device, capabilities_.residency_sets)),
      counters_(device, capabilities_.stage_counters),
      empty_kernel_(device),
      copy_kernel_(device),
      polled_at_(Clock::now()),
      ordered_queue_(open_ordered_queue()) {}

std::shared_ptr<OrderedQueue> Gpu::open_ordered_queue() {
  auto ordered_queue = std::make_shared<OrderedQueue>();
  ordered_queue->queue = [device_ newCommandQueueWithMaxCommandBufferCount:most_command_buffers];
  ordered_queue->fence = [device_ newFence];
  if (ordered_queue->queue == nil || ordered_queue->fence == nil) {
    throw Error("metal: " + capabilities_.name +
                " gives no command queue; too many may be in use: end other programs of the GPU");
  }
  ordered_queue->queue.label = queue_label;
  ordered_queue->fence.label = @"metalbench: one window after the other";
  residency_->attach(ordered_queue->queue);
  return ordered_queue;
}

std::shared_ptr<OrderedQueue> Gpu::ordered_queue() {
  release_ended();
  const std::lock_guard lock(mutex_);
  if (ordered_queue_->closed) ordered_queue_ = open_ordered_queue();
  return ordered_queue_;
}

void Gpu::keep_until_ended(const std::shared_ptr<Completion>& completion,
                           std::shared_ptr<void> kept) {
  const std::lock_guard lock(mutex_);
  completion->kept = std::move(kept);
  abandoned_.push_back(completion);
}

// Outside of the lock, because the release of an array takes the GIL.
void Gpu::release_ended() {
  std::vector<std::shared_ptr<void>> released;
  const std::lock_guard lock(mutex_);
  std::erase_if(abandoned_, [&](const std::shared_ptr<Completion>& completion) {
    if (!completion->ended()) return false;
    released.push_back(std::move(completion->kept));
    return true;
  });
}

bool Gpu::poll_is_due() {
  const Clock::time_point now = Clock::now();
  Clock::time_point last = polled_at_;
  return now - last >= 20ms && polled_at_.compare_exchange_strong(last, now);
}

std::shared_ptr<Gpu> make_gpu(id<MTLDevice> device, Capabilities capabilities) {
  return std::make_shared<Gpu>(device, std::move(capabilities));
}

}  // namespace metalbench::metal
