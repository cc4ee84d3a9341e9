// Conversion of an executor's error answers to exceptions.
#pragma once

#include <string>

#include "executor/wire.h"

namespace metalbench::executor {

// Throw the error that the executor caught.
[[noreturn]] void raise_as(Answer kind, const std::string& text);

}  // namespace metalbench::executor
