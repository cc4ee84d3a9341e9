// Findings on their way from an executor to its judge.
#pragma once

#include <vector>

#include "core/finding.h"
#include "executor/wire.h"

namespace metalbench::executor {

void put(Writer& message, const std::vector<Finding>& findings);
// Throws Garbled. Texts are made readable, whatever came; frames there are none.
[[nodiscard]] std::vector<Finding> findings_from(Reader& message);

}  // namespace metalbench::executor
