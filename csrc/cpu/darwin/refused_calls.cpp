#include "cpu/refused_calls.h"

namespace metalbench::cpu {

void tell_of_refused_calls() {}

}  // namespace metalbench::cpu
