#include "executor/pipelines.h"

#include <utility>

namespace metalbench::executor {

std::vector<cpu::Shape> shapes_of(const Dispatch& dispatch, const cpu::Shapes& shapes) {
  const std::uint32_t size = dispatch.threads.x, grid = dispatch.threads_per_grid().x;
  std::vector<cpu::Shape> found;
  if (grid >= size) found.push_back(cpu::shape_for(shapes.widths(), size));
  if (grid % size != 0) found.push_back(cpu::shape_for(shapes.widths(), grid % size));
  return found;
}

void PrebuiltPipeline::build(const Dispatch& dispatch) {
  if (shapes == nullptr) return;
  for (const cpu::Shape shape : shapes_of(dispatch, *shapes)) {
    if (built_shapes().contains(shape)) continue;
    std::string path = shapes->build(shape);
    const std::lock_guard lock(mutex_);
    built_.emplace(shape, std::move(path));
  }
}

}  // namespace metalbench::executor
