#include "metal/program.h"

#include <algorithm>
#include <utility>

#include "metal/encode.h"
#include "metal/pipeline.h"
#include "metal/tensors.h"
#include "metal/window.h"

namespace metalbench::metal {
namespace {

class MetalProgram final : public Program {
 public:
  MetalProgram(std::shared_ptr<Gpu> gpu, std::shared_ptr<Script> script, bool copies_textures)
      : gpu_(std::move(gpu)), script_(std::move(script)), copies_textures_(copies_textures) {}

  [[nodiscard]] std::unique_ptr<RunningWindow> start(const RunOptions& options) override {
    if (script_->empty()) return std::make_unique<FinishedWindow>(Timing{});
    if (!copies_textures_) return std::make_unique<Window>(gpu_, script_, options);
    await_idle(*gpu_, options);
    script_->textures().copy_in();
    const Timing timing = Window(gpu_, script_, options).wait();
    script_->textures().copy_back();
    return std::make_unique<FinishedWindow>(timing);
  }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<Script> script_;
  bool copies_textures_;
};

// `empty` replaces every kernel, unless it is nil.
std::unique_ptr<Program> make(std::shared_ptr<Gpu> gpu, std::span<const Dispatch> dispatches,
                              id<MTLComputePipelineState> empty) {
  const bool has_tensors = std::ranges::any_of(dispatches, [](const Dispatch& dispatch) {
    return metal::has_tensors(dispatch.pipeline->info());
  });
  auto script = std::make_shared<Script>(*gpu, has_tensors);
  for (const Dispatch& dispatch : dispatches) script->textures().note(dispatch);
  for (const Dispatch& dispatch : dispatches) {
    // Dispatches are bound to the device of their pipeline.
    const auto& own = dynamic_cast<const MetalPipeline&>(*dispatch.pipeline);
    script->add(dispatch, empty == nil ? own.state(dispatch.threads) : empty);
  }
  script->finish();
  const bool copies = empty == nil && !script->textures().empty();
  return std::make_unique<MetalProgram>(std::move(gpu), std::move(script), copies);
}

}  // namespace

std::unique_ptr<Program> make_program(std::shared_ptr<Gpu> gpu,
                                      std::span<const Dispatch> dispatches) {
  return make(std::move(gpu), dispatches, nil);
}

std::unique_ptr<Program> make_null_program(std::shared_ptr<Gpu> gpu,
                                           std::span<const Dispatch> dispatches) {
  const id<MTLComputePipelineState> empty = gpu->empty_kernel().state();
  return make(std::move(gpu), dispatches, empty);
}

}  // namespace metalbench::metal
