// Main loop of an executor: prebuilt kernels in shared memory.
#pragma once

#include <functional>

namespace metalbench::executor {

// Serve the judge at the other end of the socket until it ends. `seal` is called once, after all
// loads and before the first kernel runs.
void serve(int socket, const std::function<void()>& seal);

}  // namespace metalbench::executor
