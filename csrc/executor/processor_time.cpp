#include "executor/processor_time.h"

#ifdef __APPLE__
#include <libproc.h>
#include <mach/mach_time.h>
#include <sys/resource.h>
#else
#include <time.h>
#endif

namespace metalbench::executor {

#ifdef __APPLE__

std::optional<double> processor_time_ns(int process) {
  rusage_info_v0 usage{};
  if (proc_pid_rusage(process, RUSAGE_INFO_V0, reinterpret_cast<rusage_info_t*>(&usage)) != 0) {
    return {};
  }
  mach_timebase_info_data_t base{};
  mach_timebase_info(&base);
  // In ticks of the clock, whatever the headers say.
  return static_cast<double>(usage.ri_user_time + usage.ri_system_time) * base.numer / base.denom;
}

#else

std::optional<double> processor_time_ns(int process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

#endif

}  // namespace metalbench::executor
