#pragma once

#import <Metal/Metal.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/library.h"

namespace metalbench::metal {

class MetalPipeline final : public Pipeline {
 public:
  // `per_threads` is the descriptor of a kernel that is compiled for each number of threads; nil
  // for kernels that are not.
  MetalPipeline(PipelineInfo info, id<MTLComputePipelineState> state,
                MTLComputePipelineDescriptor* per_threads)
      : info_(std::move(info)), state_(state), per_threads_(per_threads) {}

  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  // Return the state for dispatches with this many threads per threadgroup. Throws DispatchError.
  [[nodiscard]] id<MTLComputePipelineState> state(const Size3& threads) const;

 private:
  PipelineInfo info_;
  id<MTLComputePipelineState> state_;
  MTLComputePipelineDescriptor* per_threads_;
  mutable std::mutex mutex_;  // guards the following member
  mutable std::map<std::array<std::uint32_t, 3>, id<MTLComputePipelineState>> states_;
};

// Cache of pipelines in use; the key holds all inputs of their compilation.
class Pipelines {
 public:
  [[nodiscard]] std::shared_ptr<const Pipeline> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second.lock();
  }

  void put(const std::string& key, const std::shared_ptr<const Pipeline>& pipeline) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_key_, [](const auto& entry) { return entry.second.expired(); });
    by_key_[key] = pipeline;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Pipeline>> by_key_;
};

}  // namespace metalbench::metal
