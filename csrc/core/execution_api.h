// Functions of metalbench._core that the PJRT plugin, another library, calls without Python. They
// are the capsule `_execution_api`. Both libraries are built together. Exceptions do not leave the
// functions, because the two libraries may not share their types.
#pragma once

#include <Python.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/execution_plan.h"
#include "core/queue.h"

namespace metalbench {

inline constexpr const char* kExecutionApi = "metalbench.execution_api";

struct ExecutionError {
  int code;  // absl::StatusCode
  std::string message;
};

// Memory of a queue's buffers in use, and of those that later allocations will use again.
struct MemoryUse {
  std::size_t used_bytes = 0, peak_bytes = 0, free_bytes = 0;
};

// Functions return nothing if they succeed.
struct ExecutionApi {
  using Outcome = std::optional<ExecutionError>;

  // The objects behind a Queue and an ExecutionPlan of Python. Require the GIL.
  Outcome (*queue_of)(PyObject* object, std::shared_ptr<Queue>& queue) noexcept;
  Outcome (*plan_of)(PyObject* object, std::shared_ptr<ExecutionPlan>& plan) noexcept;
  // The following must be called without the GIL.
  Outcome (*upload)(Queue& queue, const std::byte* from, std::size_t size,
                    std::optional<Buffer>& buffer) noexcept;
  // Wait for a range of a buffer and copy it.
  Outcome (*download)(Queue& queue, const Buffer& buffer, std::size_t offset, std::size_t size,
                      std::byte* to) noexcept;
  // Submit a program. `end` is its end; null if it has ended. Fails with the code of a cancelled
  // call after Ctrl-C, whose exception is raised as soon as Python runs again.
  Outcome (*execute)(ExecutionPlan& plan, std::vector<Buffer> arguments,
                     std::vector<Buffer>& results, std::shared_ptr<QueueMarker>& end) noexcept;
  Outcome (*is_reached)(QueueMarker& marker, bool& reached) noexcept;
  Outcome (*memory_use)(Queue& queue, MemoryUse& use) noexcept;
};

}  // namespace metalbench
