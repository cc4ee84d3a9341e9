// Report of the system call for which a sandboxed process was ended.
#pragma once

namespace metalbench::cpu {

// Install a handler: when a filter of system calls traps (SECCOMP_RET_TRAP), it writes the call's
// number to standard error and ends the process by SIGSYS. No effect on systems without such
// filters.
void tell_of_refused_calls();

}  // namespace metalbench::cpu
