// The descriptors of matrix products and convolutions: constants that are template arguments.
#pragma once

#include "names.h"

namespace mpp::tensor_ops {

// A size that is read from the operands.
template <class T>
inline constexpr T dynamic_length_v =
    T(~T(0)) < T(0) ? T(~(T(1) << (sizeof(T) * 8 - 1))) : T(~T(0));

// The product of an m x k and a k x n matrix.
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };

  int m, n, k;
  bool transpose_left, transpose_right;
  bool relaxed_precision;
  mode matmul_mode;

  constexpr matmul2d_descriptor(int m, int n, int k = dynamic_length_v<int>,
                                bool transpose_left = false, bool transpose_right = false,
                                bool relaxed_precision = false, mode matmul_mode = mode::multiply)
      : m(m),
        n(n),
        k(k),
        transpose_left(transpose_left),
        transpose_right(transpose_right),
        relaxed_precision(relaxed_precision),
        matmul_mode(matmul_mode) {}

  // Code writes -1 (a converted dynamic_extent), 0 and dynamic_length_v<int> for a dynamic k.
  constexpr bool mb_has_static_k() const { return k > 0 && k != dynamic_length_v<int>; }
  constexpr bool mb_accumulates() const { return matmul_mode == mode::multiply_accumulate; }
  // The size of each operand as it is stored.
  constexpr int mb_left_rows() const { return transpose_left ? k : m; }
  constexpr int mb_left_columns() const { return transpose_left ? m : k; }
  constexpr int mb_right_rows() const { return transpose_right ? n : k; }
  constexpr int mb_right_columns() const { return transpose_right ? k : n; }
};

enum class convolution2d_activation_layout { nhwc };
enum class convolution2d_weights_layout { hwio };

// Sizes are (channels, width, height, batch), and (width, height) of a kernel.
struct convolution2d_descriptor {
  enum class mode { multiply, multiply_accumulate };

  int4 destination_dimensions, source_dimensions;
  int2 kernel_dimensions;
  convolution2d_activation_layout activation_layout;
  convolution2d_weights_layout weights_layout;
  int2 strides, dilations;
  int groups;
  bool relaxed_precision;
  mode conv2d_mode;

  constexpr convolution2d_descriptor(
      int4 destination, int4 source, int2 kernel,
      convolution2d_activation_layout activation_layout = convolution2d_activation_layout::nhwc,
      convolution2d_weights_layout weights_layout = convolution2d_weights_layout::hwio,
      int2 strides = int2(1), int2 dilations = int2(1), int groups = 1,
      bool relaxed_precision = false, mode conv2d_mode = mode::multiply)
      : destination_dimensions(destination),
        source_dimensions(source),
        kernel_dimensions(kernel),
        activation_layout(activation_layout),
        weights_layout(weights_layout),
        strides(strides),
        dilations(dilations),
        groups(groups),
        relaxed_precision(relaxed_precision),
        conv2d_mode(conv2d_mode) {}
};

}  // namespace mpp::tensor_ops
