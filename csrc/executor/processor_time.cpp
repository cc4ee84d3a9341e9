#include "executor/processor_time.h"

#ifdef __APPLE__
#include <libproc.h>
#include <mach/mach_time.h>
#include <sys/resource.h>
#else
#include <time.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
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
  // In ticks of the clock, unlike the headers' description.
  return static_cast<double>(usage.ri_user_time + usage.ri_system_time) * base.numer / base.denom;
}

bool has_children(int /*process*/) { return false; }

#else

bool has_children(int process) {
  const std::string folder = "/proc/" + std::to_string(process);
  // Fields after the name, which ends at the last bracket: 14 and 15 from there are the ticks of
  // ended children, see proc(5).
  std::string stat;
  std::getline(std::ifstream(folder + "/stat"), stat);
  std::size_t place = stat.rfind(')');
  for (int field = 0; place != std::string::npos && field < 14; ++field) {
    place = stat.find(' ', place + 1);
  }
  if (place != std::string::npos && !stat.substr(place).starts_with(" 0 0 ")) return true;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator(folder + "/task", failed)) {
    if (std::ifstream(each.path() / "children").peek() != std::ifstream::traits_type::eof())
      return true;
  }
  return false;
}

std::optional<double> processor_time_ns(int process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

#endif

}  // namespace metalbench::executor
