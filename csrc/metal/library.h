#pragma once

#include <memory>
#include <string>

#include "core/artifacts.h"
#include "core/library.h"
#include "core/signature.h"
#include "metal/gpu.h"
#include "metal/pipeline.h"

namespace metalbench::metal {

// State shared by all libraries of a device.
struct CompileContext {
  std::shared_ptr<Gpu> gpu;
  std::shared_ptr<ArtifactCache> cache;
  std::shared_ptr<SignatureReader> reader;
  std::shared_ptr<Pipelines> pipelines;
};

// Throws CompileError with the compiler's own text; Unsupported for checked and counted builds.
[[nodiscard]] std::shared_ptr<Library> make_library(CompileContext context,
                                                    const std::string& source,
                                                    const CompileOptions& options);

}  // namespace metalbench::metal
