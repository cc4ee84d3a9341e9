// What an executor's answer other than `done` means to who asked.
#pragma once

#include <string>

#include "executor/wire.h"

namespace metalbench::executor {

// Throws the error that the executor caught.
[[noreturn]] void raise_as(Answer kind, const std::string& text);

}  // namespace metalbench::executor
