// Faults as users are told of them.
#pragma once

#include <optional>
#include <string>

#include "core/finding.h"
#include "cpu/fault.h"
#include "cpu/findings.h"
#include "cpu/launch.h"

namespace metalbench::cpu {

// What happened, and which thread did it.
[[nodiscard]] std::string words_of(const Fault& fault);
// Where in its module's file; nothing where that is not known.
[[nodiscard]] std::optional<mb::uptr> offset_of(const Fault& fault, const Module& module);
// Without frames: whoever has the files reads those.
[[nodiscard]] Finding finding_of(const Findings::Entry& entry, const Launch& launch);

}  // namespace metalbench::cpu
