// Where an element of a strided array lies. Shapes and strides count elements, the last axis is the
// innermost.
#pragma once

#include "types.h"

template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc(IdxT elem, constant const int* shape, constant const int64_t* strides,
                            int ndim) {
  IdxT at = 0;
  for (int axis = ndim - 1; axis >= 0 && elem > 0; --axis) {
    at += (elem % shape[axis]) * IdxT(strides[axis]);
    elem /= shape[axis];
  }
  return at;
}

namespace metalbench {

// Where the first element with this number lies, counted along all but the last two axes.
template <typename IdxT>
METAL_FUNC IdxT outer_loc(uint outer, constant const int* shape, constant const int64_t* strides,
                          int ndim) {
  IdxT at = 0;
  for (int axis = ndim - 3; axis >= 0; --axis) {
    at += (outer % shape[axis]) * IdxT(strides[axis]);
    outer /= shape[axis];
  }
  return at;
}

}  // namespace metalbench

// x and y count along the last two axes, z along all others.
template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc(uint3 elem, constant const int* shape, constant const int64_t* strides,
                            int ndim) {
  return elem.x * IdxT(strides[ndim - 1]) + elem.y * IdxT(strides[ndim - 2]) +
         metalbench::outer_loc<IdxT>(elem.z, shape, strides, ndim);
}

template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc_1(uint elem, constant const int64_t& stride) {
  return elem * IdxT(stride);
}
template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc_2(uint2 elem, constant const int64_t strides[2]) {
  return elem.x * IdxT(strides[1]) + elem.y * IdxT(strides[0]);
}
template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc_3(uint3 elem, constant const int64_t strides[3]) {
  return elem.x * IdxT(strides[2]) + elem.y * IdxT(strides[1]) + elem.z * IdxT(strides[0]);
}

// The same element of two or three arrays of one shape.
template <typename IdxT = int64_t>
METAL_FUNC vec<IdxT, 2> elem_to_loc_2_nd(uint3 elem, constant const int* shape,
                                         constant const int64_t* a_strides,
                                         constant const int64_t* b_strides, int ndim) {
  return vec<IdxT, 2>(elem_to_loc<IdxT>(elem, shape, a_strides, ndim),
                      elem_to_loc<IdxT>(elem, shape, b_strides, ndim));
}
template <typename IdxT = int64_t>
METAL_FUNC vec<IdxT, 3> elem_to_loc_3_nd(uint3 elem, constant const int* shape,
                                         constant const int64_t* a_strides,
                                         constant const int64_t* b_strides,
                                         constant const int64_t* c_strides, int ndim) {
  return vec<IdxT, 3>(elem_to_loc<IdxT>(elem, shape, a_strides, ndim),
                      elem_to_loc<IdxT>(elem, shape, b_strides, ndim),
                      elem_to_loc<IdxT>(elem, shape, c_strides, ndim));
}

// Walks along an array in order. DIM and General promise how many axes there are; it is right
// whatever they say.
template <int DIM, typename OffsetT = size_t, bool General = true>
struct LoopedElemToLoc {
  int dim;
  int64_t index{0};
  OffsetT offset{0};

  LoopedElemToLoc(int dim) : dim(dim) {}

  void next(const constant int* shape, const constant int64_t* strides) { next(1, shape, strides); }
  void next(int n, const constant int* shape, const constant int64_t* strides) {
    index += n;
    offset = elem_to_loc<int64_t>(index, shape, strides, dim);
  }
  OffsetT location() { return offset; }
};
