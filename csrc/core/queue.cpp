#include "core/queue.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/device.h"
#include "core/errors.h"

namespace metalbench {
namespace {

constexpr std::size_t most_free_bytes = std::size_t{1} << 30;

struct DispatchLaunch final : QueuedLaunch {
  explicit DispatchLaunch(Dispatch given) : dispatch(std::move(given)) {}
  Dispatch dispatch;
};

}  // namespace

std::chrono::nanoseconds Queue::time_left() const {
  if (!limits_.deadline) return std::chrono::hours(24 * 365);
  const auto left = *limits_.deadline - std::chrono::steady_clock::now();
  if (left <= left.zero()) throw TimeLimitExceeded("the time limit of the run is reached");
  return left;
}

void Queue::check_limits() const {
  if (interrupted() && interrupted()()) throw Interrupted();
  (void)time_left();
}

Buffer Queue::allocate(std::size_t size) {
  const Buffer whole(
      cache_->take(size, [this](std::size_t bytes) { return allocate_storage(bytes); }), false);
  return whole.slice(0, size);
}

DispatchQueue::DispatchQueue(std::shared_ptr<Device> device, bool checked)
    : Queue(most_free_bytes), device_(std::move(device)), checked_(checked) {}

std::shared_ptr<Storage> DispatchQueue::allocate_storage(std::size_t size) {
  return device_->allocate(size);
}

std::unique_ptr<QueuedLaunch> DispatchQueue::prepare(Dispatch dispatch) {
  return std::make_unique<DispatchLaunch>(std::move(dispatch));
}

void DispatchQueue::launch(QueuedLaunch& launch, std::span<const Buffer> buffers) {
  pending_.push_back(static_cast<DispatchLaunch&>(launch).dispatch);
  Dispatch& added = pending_.back();
  for (std::size_t i = 0; i < buffers.size(); ++i) added.bindings[i].value = buffers[i];
}

void DispatchQueue::copy(const Buffer& to, const Buffer& from) {
  wait();
  if (to.size() > 0) std::memcpy(to.bytes().data(), from.bytes().data(), to.size());
  if (checked_) to.mark_written();
}

void DispatchQueue::write(const Buffer& to, const std::byte* from) {
  wait();
  if (to.size() > 0) std::memcpy(to.bytes().data(), from, to.size());
  if (checked_) to.mark_written();
}

void DispatchQueue::read(std::byte* to, const Buffer& from) {
  wait();
  if (from.size() > 0) std::memcpy(to, from.bytes().data(), from.size());
}

void DispatchQueue::wait() {
  if (!pending_.empty()) {
    const std::vector<Dispatch> now = take_pending();
    RunOptions options;
    options.time_limit = time_left();
    options.interrupted = interrupted();
    (void)device_->prepare(now)->run(options);
  }
  trim_cache();
}

std::shared_ptr<Queue> make_dispatch_queue(std::shared_ptr<Device> device, bool checked) {
  return std::make_shared<DispatchQueue>(std::move(device), checked);
}

}  // namespace metalbench
