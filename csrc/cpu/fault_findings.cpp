#include "cpu/fault_findings.h"

#include <cstdio>

namespace metalbench::cpu {
namespace {

std::string to_text(const mb::Dim3& position) {
  return "(" + std::to_string(position.x) + ", " + std::to_string(position.y) + ", " +
         std::to_string(position.z) + ")";
}

std::string what_happened(const Fault& fault) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", fault.address);
  switch (fault.kind) {
    case Fault::Kind::reported:
      return fault.text.data();
    case Fault::Kind::bad_address:
      return std::string("access to invalid address ") + address +
             "; an index or pointer is wrong (a checked run names the buffer)";
    case Fault::Kind::no_address:
      return "access to an invalid address; an index or pointer is wrong (a checked run names the "
             "buffer)";
    case Fault::Kind::stack_overflow:
      return "stack overflow: the functions that one thread is in take more than " +
             std::to_string(mb::private_bytes >> 10) +
             " KiB of private memory together, or it recurses";
    case Fault::Kind::arithmetic:
      return "integer division by zero";
    case Fault::Kind::illegal:
      return "illegal instruction: the kernel ran into undefined behaviour";
    case Fault::Kind::stopped:
      return "still running";
    case Fault::Kind::none:
      break;
  }
  return "unknown fault";
}

}  // namespace

std::string describe_fault(const Fault& fault) {
  std::string text = what_happened(fault);
  if (fault.has_thread && !fault.names_thread)
    text +=
        ", by thread " + to_text(fault.thread) + " of threadgroup " + to_text(fault.threadgroup);
  if (fault.has_simdgroup)
    text += ", by SIMD-group " + std::to_string(fault.simdgroup) + " of threadgroup " +
            to_text(fault.threadgroup);
  if (fault.variable[0] != '\0') text += std::string("; it is of `") + fault.variable.data() + "`";
  return text;
}

std::optional<mb::uptr> find_offset(const Fault& fault, const Module& module) {
  // A stop from outside is usually in a check, because most time is spent there; checks also use
  // the last part of a stack.
  const bool in_checks =
      fault.kind == Fault::Kind::stopped || fault.kind == Fault::Kind::stack_overflow;
  if (in_checks && module.contains(fault.checked)) {
    return *module.offset_of(fault.checked) - 1;
  }
  // A check has only the return address of its call, which may belong to the next line.
  if (const auto offset = module.offset_of(fault.pc)) {
    return *offset - (fault.kind == Fault::Kind::reported ? 1 : 0);
  }
  return std::nullopt;
}

std::optional<mb::uptr> find_declaration_offset(const Fault& fault, const Module& module) {
  if (fault.born == nullptr) return std::nullopt;
  const auto offset = module.offset_of(fault.born);
  return offset ? std::optional(*offset - 1) : std::nullopt;
}

std::string describe_declaration(std::string_view rule, const std::optional<SourceLine>& line) {
  if (!line) return "";
  const char* what = rule.ends_with("race") || rule == "texture-fence" ? "; the other access is at "
                     : rule == "barrier" ? "; the other barrier is at "
                                         : ", declared at ";
  const std::string call = line->call.empty() ? "" : ", called at " + line->call;
  return what + line->file + ":" + std::to_string(line->line) + call;
}

void place(Finding& finding, FrontEnd& front_end) {
  finding.frames = front_end.frames(finding.object, finding.offsets);
  if (finding.declared) {
    finding.message +=
        describe_declaration(finding.rule, front_end.symbolize(finding.object, *finding.declared));
  }
}

Finding make_finding(const Findings::Entry& entry, const Launch& launch) {
  const Fault& fault = entry.first;
  Finding finding;
  finding.rule = rule_name(rule_of(fault));
  finding.kernel = launch.kernel;
  finding.message = describe_fault(fault);
  finding.count = entry.count;
  const Module& module = launch.module_of(fault.pc);
  finding.object = module.path();
  if (const auto offset = find_offset(fault, module)) finding.offsets.push_back(*offset);
  finding.declared = find_declaration_offset(fault, module);
  for (const void* caller : fault.callers) {
    if (caller == nullptr) break;
    if (const auto offset = module.offset_of(caller)) finding.offsets.push_back(*offset - 1);
  }
  return finding;
}

Finding make_finding(const Findings::Rest& rest, const Launch& launch) {
  Finding finding;
  finding.rule = rule_name(rest.rule);
  finding.kernel = launch.kernel;
  finding.message = "found at more places than are listed: " + std::to_string(rest.places) +
                    " more places of the compiled code";
  finding.count = rest.count;
  finding.places = rest.places;
  return finding;
}

}  // namespace metalbench::cpu
