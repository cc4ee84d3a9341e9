// Functions of arrays of any element type, element by element, computed in that type: four elements a
// thread, moved by one load or store each; the last thread does what is left one by one. Needs
// `threads_in_grid=(ceil_div(count, 4))`. `f` is a function object on elements and on vectors of four.
// For floats of all widths, computed in float, there is elementwise.h.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

// y = f(x...) for quad `i` of `count` elements. Arrays begin where vectors may be loaded.
template <typename F, typename T, typename... Inputs>
inline void typed_elements(F f, device T* y, uint count, uint i, device const Inputs*... x) {
  if (4 * i + 4 <= count) {
    ((device vec<T, 4>*)y)[i] = vec<T, 4>(f(((device const vec<Inputs, 4>*)x)[i]...));
    return;
  }
  for (uint j = 4 * i; j < count; ++j) {
    y[j] = T(f(x[j]...));
  }
}

}  // namespace metalbench
