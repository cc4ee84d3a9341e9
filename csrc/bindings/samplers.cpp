// Samplers with MSL's names.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "core/errors.h"

namespace metalbench::bindings {
namespace {

template <typename Enum>
Enum choice(const char* parameter, const std::string& given,
            std::initializer_list<const char*> names) {
  std::string known;
  int value = 0;
  for (const char* name : names) {
    if (given == name) return static_cast<Enum>(value);
    known += std::string(known.empty() ? "" : ", ") + name;
    ++value;
  }
  throw DispatchError("sampler: " + std::string(parameter) + ": expected one of " + known +
                      "; got " + given);
}

Filter filter_of(const char* parameter, const std::string& name) {
  return choice<Filter>(parameter, name, {"nearest", "linear"});
}

// One mode for all axes, or three.
std::vector<std::string> modes_of(const nb::object& address) {
  std::vector<std::string> modes;
  if (nb::isinstance<nb::str>(address))
    return std::vector<std::string>(3, nb::cast<std::string>(address));
  if (nb::isinstance<nb::tuple>(address) || nb::isinstance<nb::list>(address)) {
    for (const nb::handle mode : address) {
      if (nb::isinstance<nb::str>(mode)) modes.push_back(nb::cast<std::string>(mode));
    }
  }
  if (modes.size() == 3) return modes;
  throw DispatchError("sampler: address: expected a name or three of them, got " +
                      nb::cast<std::string>(nb::repr(address)));
}

void set_address(Sampler& sampler, const nb::object& address) {
  const std::vector<std::string> modes = modes_of(address);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    AddressMode& mode = sampler.address[axis];
    mode = choice<AddressMode>(
        "address", modes[axis],
        {"clamp_to_zero", "clamp_to_edge", "repeat", "mirrored_repeat", "clamp_to_border"});
    const bool repeats = mode == AddressMode::repeat || mode == AddressMode::mirrored_repeat;
    if (repeats && !sampler.normalized) {
      throw DispatchError("sampler: address: repeat and mirrored_repeat need normalized=True");
    }
  }
}

void construct_sampler(Sampler* self, const std::string& filter, const nb::object& address,
                       bool normalized, const std::optional<std::string>& mag_filter,
                       const std::optional<std::string>& min_filter, const std::string& mip_filter,
                       const std::string& border_color, const std::string& compare,
                       std::uint8_t max_anisotropy, const std::pair<float, float>& lod_clamp) {
  Sampler sampler;
  sampler.normalized = normalized;
  set_address(sampler, address);
  sampler.mag_filter = filter_of("mag_filter", mag_filter.value_or(filter));
  sampler.min_filter = filter_of("min_filter", min_filter.value_or(filter));
  sampler.mip_filter = choice<MipFilter>("mip_filter", mip_filter, {"none", "nearest", "linear"});
  sampler.border = choice<BorderColor>("border_color", border_color,
                                       {"transparent_black", "opaque_black", "opaque_white"});
  sampler.compare = choice<CompareFunction>("compare", compare,
                                            {"none", "never", "less", "less_equal", "greater",
                                             "greater_equal", "equal", "not_equal", "always"});
  sampler.max_anisotropy = max_anisotropy;
  sampler.lod_min = lod_clamp.first;
  sampler.lod_max = lod_clamp.second;
  new (self) Sampler(sampler);
}

}  // namespace

void define_samplers(nb::module_& module) {
  nb::class_<Sampler>(module, "Sampler", "Options of a kernel's `sample` function.")
      .def("__init__", &construct_sampler, nb::arg("filter") = "nearest", nb::kw_only(),
           nb::arg("address") = "clamp_to_edge", nb::arg("normalized") = true,
           nb::arg("mag_filter") = nb::none(), nb::arg("min_filter") = nb::none(),
           nb::arg("mip_filter") = "none", nb::arg("border_color") = "transparent_black",
           nb::arg("compare") = "none", nb::arg("max_anisotropy") = 1,
           nb::arg("lod_clamp") = std::pair<float, float>(0.0F, 3.402823466e+38F),
           nb::sig("def __init__(self, filter: str = 'nearest', *, "
                   "address: str | tuple[str, str, str] = 'clamp_to_edge', "
                   "normalized: bool = True, mag_filter: str | None = None, "
                   "min_filter: str | None = None, mip_filter: str = 'none', "
                   "border_color: str = 'transparent_black', compare: str = 'none', "
                   "max_anisotropy: int = 1, "
                   "lod_clamp: tuple[float, float] = (0.0, 3.402823466e+38)) -> None"),
           "Names are those of MSL's `constexpr sampler`; `address` may be one for each axis.\n"
           "Raise DispatchError.");
}

}  // namespace metalbench::bindings
