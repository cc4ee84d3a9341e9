#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/artifacts.h"
#include "core/library.h"
#include "cpu/front_end.h"
#include "cuda/ptx.h"

namespace metalbench::cuda {

// Alignment of buffers in bytes that kernels are compiled for (BUFFER_ALIGNMENT of
// metalbench/msl/toolchain/clang.py).
constexpr std::uint64_t buffer_alignment = 16;

class CudaPipeline final : public Pipeline {
 public:
  CudaPipeline(PipelineInfo info, std::shared_ptr<const Gpu> gpu,
               std::shared_ptr<ArtifactCache> cache, const std::string& ptx,
               std::function<std::string()> ptx_for_unaligned)
      : info_(std::move(info)),
        gpu_(std::move(gpu)),
        cache_(std::move(cache)),
        modules_(gpu_, cache_, ptx, info_.name),
        ptx_for_unaligned_(std::move(ptx_for_unaligned)) {}
  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] const Modules& modules() const { return modules_; }
  // Return the modules for launches with a buffer that is not aligned to `buffer_alignment`.
  // Compiled on first use. Throws CompileError.
  [[nodiscard]] const Modules& modules_for_unaligned() const;

 private:
  PipelineInfo info_;
  std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<ArtifactCache> cache_;
  Modules modules_;
  std::function<std::string()> ptx_for_unaligned_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Modules> for_unaligned_;
};

[[nodiscard]] std::shared_ptr<Library> make_library(std::shared_ptr<const Gpu> gpu,
                                                    std::shared_ptr<ArtifactCache> cache,
                                                    std::shared_ptr<const cpu::ParsedSource> source,
                                                    const CompileOptions& options);

}  // namespace metalbench::cuda
