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
[[nodiscard]] std::string describe_fault(const Fault& fault);
// Return the fault's offset in the module's file, if known.
[[nodiscard]] std::optional<mb::uptr> find_offset(const Fault& fault, const Module& module);
// Return the offset of the variable's declaration, if known.
[[nodiscard]] std::optional<mb::uptr> find_declaration_offset(const Fault& fault,
                                                              const Module& module);
// Return the note about the declaration, or about the other access of a race.
[[nodiscard]] std::string describe_declaration(std::string_view rule,
                                               const std::optional<SourceLine>& line);
// Make a finding without source lines: the process that has the files adds them.
[[nodiscard]] Finding make_finding(const Findings::Entry& entry, const Launch& launch);
[[nodiscard]] Finding make_finding(const Findings::Rest& rest, const Launch& launch);
// Add source lines from the object's debug information.
void place(Finding& finding, FrontEnd& front_end);

}  // namespace metalbench::cpu
