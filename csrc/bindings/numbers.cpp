// Conversion of Python and NumPy numbers to constants and counts.
#include <nanobind/stl/string.h>

#include <cmath>
#include <limits>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

bool less(const nb::object& a, const nb::object& b) {
  const int is_less = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_LT);
  if (is_less < 0) nb::raise_python_error();
  return is_less != 0;
}

void check_integer(const PipelineInfo& kernel, const Argument& argument, const nb::object& number,
                   const char* name) {
  const nb::object limits = nb::module_::import_("numpy").attr("iinfo")(name);
  const nb::object least(limits.attr("min")), most(limits.attr("max"));
  if (less(number, least) || less(most, number)) {
    reject_value(kernel, argument,
                 "expected " + repr_of(least) + " to " + repr_of(most) + " for " + argument.type +
                     ", got " + repr_of(number));
  }
}

double greatest(Element element) {
  constexpr double half = 65504;
  return element == Element::float16 ? half : std::numeric_limits<float>::max();
}

void check_float(const PipelineInfo& kernel, const Argument& argument, const nb::object& number,
                 Element element) {
  const double value = PyFloat_AsDouble(number.ptr());
  const bool is_too_large = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (is_too_large || (std::isfinite(value) && std::abs(value) > greatest(element))) {
    reject_value(kernel, argument,
                 "expected at most " +
                     nb::cast<std::string>(nb::str(nb::float_(greatest(element)))) + " for " +
                     argument.type + ", got " + repr_of(number));
  }
}

bool is_float(Element element) {
  return element == Element::float16 || element == Element::bfloat16 || element == Element::float32;
}

bool is_truth(const nb::object& number) {
  if (nb::isinstance<nb::bool_>(number)) return true;
  const nb::object zero = nb::int_(0), one = nb::int_(1);
  return nb::isinstance<nb::int_>(number) && (number.equal(zero) || number.equal(one));
}

}  // namespace

nb::object plain_number(const nb::object& number) {
  if (!nb::hasattr(number, "item") || !nb::hasattr(number, "dtype")) return number;
  // A number of ml_dtypes converts only to a Python float.
  if (dtype_name(number) == "bfloat16") return nb::object(number.attr("__float__")());
  return nb::object(number.attr("item")());
}

std::string repr_of(const nb::handle& object) {
  constexpr std::size_t longest = 80;
  const auto text = nb::cast<std::string>(nb::repr(object));
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string described(const nb::handle& object) {
  return nb::cast<std::string>(nb::str(nb::object(object.type().attr("__name__")))) + " " +
         repr_of(object);
}

nb::object integer_of(const nb::handle& object) {
  if (nb::isinstance<nb::bool_>(object)) return nb::object();
  nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid()) PyErr_Clear();
  return integer;
}

std::optional<std::uint32_t> count_of(const nb::handle& object) {
  const nb::object integer = integer_of(object);
  std::uint32_t count = 0;
  if (!integer.is_valid() || !nb::try_cast(integer, count)) return std::nullopt;
  return count;
}

Bytes bytes_of_number(const PipelineInfo& kernel, const Argument& argument,
                      const nb::object& given) {
  const nb::object number = plain_number(given);
  const Element element = element_of(argument);
  const bool is_integer = nb::isinstance<nb::int_>(number);
  if (!is_integer && !nb::isinstance<nb::float_>(number)) {
    reject_type(kernel, argument,
                "expected a number, an array, bytes or a Buffer for " + argument.type + ", got " +
                    described(given));
  }
  if (!is_single_number(argument)) {
    reject_type(
        kernel, argument,
        "cannot turn a Python number into " + argument.type + "; pass a NumPy array or bytes");
  }
  const char* const name = numpy_name(element);
  if (element == Element::boolean) {
    if (!is_truth(number)) {
      reject_type(kernel, argument, "expected True or False, got " + repr_of(number));
    }
  } else if (is_float(element)) {
    check_float(kernel, argument, number, element);
  } else if (is_integer) {
    check_integer(kernel, argument, number, name);
  } else {
    reject_type(kernel, argument,
                "expected an integer for " + argument.type + ", got " + repr_of(number));
  }
  // NumPy has no bfloat16, and names its boolean type bool_.
  const nb::module_ types =
      nb::module_::import_(element == Element::bfloat16 ? "ml_dtypes" : "numpy");
  const nb::object type = types.attr(element == Element::boolean ? "bool_" : name);
  return bytes_of(nb::object(type(number).attr("tobytes")()));
}

}  // namespace metalbench::bindings
