// What runs in an executor: kernels that were compiled elsewhere, in memory that it shares.
#pragma once

#include <functional>

namespace metalbench::executor {

// Serves the judge at the other end of the socket until it is gone. `seal` is called once, when all
// is loaded and before the first kernel runs.
void serve(int socket, const std::function<void()>& seal);

}  // namespace metalbench::executor
