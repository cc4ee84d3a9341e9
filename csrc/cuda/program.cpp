#include "cuda/program.h"

#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "cuda/window.h"

namespace metalbench::cuda {
namespace {

class CudaProgram final : public Program {
 public:
  CudaProgram(std::shared_ptr<const Gpu> gpu, std::span<const Dispatch> dispatches,
              const Modules* instead)
      : gpu_(std::move(gpu)),
        dispatches_(dispatches.begin(), dispatches.end()),
        table_(std::make_unique<Table>(gpu_)) {
    std::vector<Launch> launches;
    std::string names;
    for (const Dispatch& dispatch : dispatches_) {
      launches.push_back(make_launch(gpu_, dispatch, *table_, storages_, instead));
      const std::string name = dispatch.pipeline->info().name;
      if (names.find("[" + name + "] ") == std::string::npos) names += "[" + name + "] ";
    }
    script_ = std::make_shared<Script>(gpu_, std::move(launches), std::move(names));
  }

  [[nodiscard]] std::unique_ptr<RunningWindow> start(const RunOptions& options) override {
    gpu_->use();
    return start_window(script_, options);
  }

  void enter() override {
    gpu_->use();
    auto next = storages_.begin();
    try {
      for (; next != storages_.end(); ++next) (*next)->enter();
    } catch (...) {
      while (next != storages_.begin()) (*--next)->leave(false);
      throw;
    }
  }

  void leave() override {
    std::exception_ptr failed;
    try {
      gpu_->use();
    } catch (const Error&) {
      failed = std::current_exception();
    }
    for (const auto& each : storages_) {
      try {
        each->leave(failed == nullptr);
      } catch (const Error&) {
        failed = std::current_exception();
      }
    }
    if (failed != nullptr) std::rethrow_exception(failed);
  }

 private:
  std::shared_ptr<const Gpu> gpu_;
  std::vector<Dispatch> dispatches_;  // keep their buffers alive
  std::unique_ptr<Table> table_;
  std::set<std::shared_ptr<Mirror>> storages_;
  std::shared_ptr<Script> script_;
};

}  // namespace

std::unique_ptr<Program> make_program(std::shared_ptr<const Gpu> gpu,
                                      std::span<const Dispatch> dispatches,
                                      const Modules* instead) {
  return std::make_unique<CudaProgram>(std::move(gpu), dispatches, instead);
}

}  // namespace metalbench::cuda
