// Conversion of faults to the findings that users see.
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

// Return the description of a fault, with the thread.
[[nodiscard]] std::string words_of(const Fault& fault);
// Return the fault's offset in the module's file, if known.
[[nodiscard]] std::optional<mb::uptr> offset_of(const Fault& fault, const Module& module);
// Return the offset of the variable's declaration, if known.
[[nodiscard]] std::optional<mb::uptr> declared_offset_of(const Fault& fault, const Module& module);
// Return the note about the declaration, or about the other access of a race.
[[nodiscard]] std::string declared_at(std::string_view rule, const std::optional<SourceLine>& line);
// Make a finding without source lines: the process that has the files adds them.
[[nodiscard]] Finding finding_of(const Findings::Entry& entry, const Launch& launch);
[[nodiscard]] Finding finding_of(const Findings::Rest& rest, const Launch& launch);
// Add source lines from the object's debug information.
void place(Finding& finding, FrontEnd& front_end);

}  // namespace metalbench::cpu
