// Serialisation of findings from an executor to its judge.
#pragma once

#include <vector>

#include "core/finding.h"
#include "executor/wire.h"

namespace metalbench::executor {

void put(Writer& message, const std::vector<Finding>& findings);
// Read findings, without frames. Texts are sanitised. Throws MalformedMessage.
[[nodiscard]] std::vector<Finding> findings_from(Reader& message);

}  // namespace metalbench::executor
