#include "metal/tick.h"

#include <vector>

#include "core/clock_tick.h"
#include "core/errors.h"
#include "metal/failure.h"

namespace metalbench::metal {
namespace {

using namespace std::chrono_literals;

constexpr int windows = 32;
constexpr auto limit = 10s;

std::shared_ptr<Completion> run_tiny(id<MTLCommandQueue> queue, id<MTLComputePipelineState> state) {
  auto completion = std::make_shared<Completion>();
  @autoreleasepool {
    const id<MTLCommandBuffer> buffer = [queue commandBuffer];
    buffer.label = @"metalbench: clock";
    const id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    encoder.label = @"metalbench: clock";
    [encoder setComputePipelineState:state];
    [encoder dispatchThreadgroups:MTLSize{1, 1, 1} threadsPerThreadgroup:MTLSize{1, 1, 1}];
    [encoder endEncoding];
    Completion::attach(completion, buffer);
    [buffer commit];
  }
  if (!completion->wait_until(Clock::now() + limit)) time_is_up(limit, "an empty kernel");
  check(*completion, "an empty kernel");
  return completion;
}

}  // namespace

double measure_tick_ns(Gpu& gpu) {
  const std::shared_ptr<OrderedQueue> ordered_queue = gpu.ordered_queue();
  const id<MTLComputePipelineState> state = gpu.empty_kernel().state();
  std::vector<double> stamps;
  for (int i = 0; i < windows; ++i) {
    const Span span = run_tiny(ordered_queue->queue, state)->spans.back();
    if (!is_time(span)) continue;
    stamps.push_back(span.start_ns);
    stamps.push_back(span.end_ns);
  }
  if (stamps.empty()) {
    throw Error("metal: " + gpu.capabilities().name +
                " gives no usable GPU times, so that nothing can be timed; restart the Mac, or "
                "use the `cpu` device");
  }
  return clock_tick_ns(stamps);
}

}  // namespace metalbench::metal
