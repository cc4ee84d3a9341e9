// A process that is ended for a system call it may not make tells which one it was.
#pragma once

namespace metalbench::cpu {

// From now on what a filter of system calls traps (SECCOMP_RET_TRAP) writes the call's number to
// standard error, and ends the process by SIGSYS. Does nothing where there are no such filters.
void tell_of_refused_calls();

}  // namespace metalbench::cpu
