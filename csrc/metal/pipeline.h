#pragma once

#import <Metal/Metal.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/library.h"

namespace metalbench::metal {

class MetalPipeline final : public Pipeline {
 public:
  MetalPipeline(PipelineInfo info, id<MTLComputePipelineState> state)
      : info_(std::move(info)), state_(state) {}

  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] id<MTLComputePipelineState> state() const { return state_; }

 private:
  PipelineInfo info_;
  id<MTLComputePipelineState> state_;
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
