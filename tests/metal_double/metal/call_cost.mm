#include "call_cost.h"

#import <Metal/Metal.h>

#include "encoder.h"
#include "gpu_clock.h"

double metal_double::encoder_call_ns() {
  constexpr int calls = 20000;
  auto pass = std::make_shared<Pass>();
  DoubleEncoder* encoder = [[DoubleEncoder alloc] initWithCommandBuffer:nil pass:pass];
  const MTLSize size = MTLSizeMake(1, 1, 1);
  const std::uint64_t start = host_ns();
  for (int i = 0; i < calls; ++i) [encoder dispatchThreads:size threadsPerThreadgroup:size];
  const double elapsed = static_cast<double>(host_ns() - start);
  [encoder endEncoding];
  return elapsed / calls;
}
