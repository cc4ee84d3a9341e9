// Faults as users are told of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/finding.h"
#include "cpu/fault.h"
#include "cpu/findings.h"
#include "cpu/front_end.h"
#include "cpu/launch.h"

namespace metalbench::cpu {

// What happened, and which thread did it.
[[nodiscard]] std::string words_of(const Fault& fault);
// Where in its module's file; nothing where that is not known.
[[nodiscard]] std::optional<mb::uptr> offset_of(const Fault& fault, const Module& module);
// Likewise, where the variable that it is about was declared.
[[nodiscard]] std::optional<mb::uptr> declared_offset_of(const Fault& fault, const Module& module);
// And of a race, where the other access was.
[[nodiscard]] std::string declared_at(std::string_view rule, const std::optional<SourceLine>& line);
// Without frames: whoever has the files reads those.
[[nodiscard]] Finding finding_of(const Findings::Entry& entry, const Launch& launch);
[[nodiscard]] Finding finding_of(const Findings::Rest& rest, const Launch& launch);
// Adds what the debug information of its object says.
void place(Finding& finding, FrontEnd& front_end);

}  // namespace metalbench::cpu
