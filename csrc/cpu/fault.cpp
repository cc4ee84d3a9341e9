#include "cpu/fault.h"

namespace metalbench::cpu {

const char* rule_name(Rule rule) {
  switch (rule) {
    case Rule::fault:
      break;
    case Rule::out_of_bounds:
      return "out-of-bounds";
    case Rule::wild_pointer:
      return "wild-pointer";
    case Rule::write_to_constant:
      return "write-to-constant";
    case Rule::write_to_input:
      return "write-to-input";
    case Rule::misaligned:
      return "misaligned";
    case Rule::texture_bounds:
      return "texture-bounds";
    case Rule::stack_overflow:
      return "stack-overflow";
    case Rule::uninitialised:
      return "uninitialised";
    case Rule::race:
      return "race";
    case Rule::texture_fence:
      return "texture-fence";
    case Rule::same_value_race:
      return "same-value-race";
    case Rule::barrier:
      return "barrier";
    case Rule::simdgroup:
      return "simdgroup";
    case Rule::assertion:
      return "assertion";
    case Rule::division:
      return "division";
    case Rule::shift:
      return "shift";
    case Rule::overflow:
      return "overflow";
    case Rule::float_cast:
      return "float-cast";
    case Rule::signed_overflow:
      return "signed-overflow";
    case Rule::special_value:
      return "special-value";
    case Rule::trap:
      return "trap";
    case Rule::time_limit:
      return "time-limit";
  }
  return "fault";
}

Rule rule_of(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::bad_address:
    case Fault::Kind::no_address:
      return Rule::wild_pointer;
    case Fault::Kind::stack_overflow:
      return Rule::stack_overflow;
    case Fault::Kind::arithmetic:
      return Rule::division;
    case Fault::Kind::illegal:
      return Rule::trap;
    case Fault::Kind::stopped:
      return Rule::time_limit;
    case Fault::Kind::reported:
    case Fault::Kind::none:
      break;
  }
  return fault.rule;
}

Rule rule_of(mb::Finding finding) {
  switch (finding) {
    case mb::Finding::division_by_zero:
      return Rule::division;
    case mb::Finding::shift:
      return Rule::shift;
    case mb::Finding::conversion:
      return Rule::float_cast;
    case mb::Finding::subscript:
      return Rule::out_of_bounds;
    case mb::Finding::uninitialised:
      return Rule::uninitialised;
    case mb::Finding::signed_overflow:
      return Rule::signed_overflow;
    case mb::Finding::member:
      return Rule::out_of_bounds;
    case mb::Finding::special_value:
      return Rule::special_value;
    case mb::Finding::texel:
      return Rule::texture_bounds;
  }
  return Rule::fault;
}

}  // namespace metalbench::cpu
