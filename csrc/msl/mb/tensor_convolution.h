// mpp::tensor_ops::convolution2d: images with channels innermost, and a window that is centred.
#pragma once

#include "tensor_ops.h"

namespace mpp::tensor_ops {

template <convolution2d_descriptor Descriptor, class Scope>
class convolution2d {
  static_assert(Descriptor.activation_layout == convolution2d_activation_layout::nhwc,
                "the activation has the layout nhwc");
  static_assert(Descriptor.weights_layout == convolution2d_weights_layout::hwio,
                "the weights have the layout hwio");
  static_assert(Descriptor.groups == 1, "convolution2d has one group");

  static constexpr int channels = Descriptor.destination_dimensions.x;
  static constexpr int width = Descriptor.destination_dimensions.y;
  static constexpr int height = Descriptor.destination_dimensions.z;
  static constexpr int batch = Descriptor.destination_dimensions.w;
  // A matrix of positions and channels.
  using Layout = typename mb::PlainLayout<mb::scope_traits<Scope>::threads, width * height * batch,
                                          channels>::type;
  using Elements = mb::ImageElements<Layout, Scope, width, height>;
  template <class E>
  using Destination = metal::cooperative_tensor<
      E, metal::extents<int, size_t(channels), size_t(width), size_t(height), size_t(batch)>,
      Elements>;

 public:
  static constexpr convolution2d_descriptor descriptor = Descriptor;
  using scope = Scope;

  convolution2d() = default;

  // The position in the activation of the window's centre for the first result.
  MB_FUNC void set_offsets(int2 offsets) { offsets_ = offsets; }

  template <class A, class W, class E, class Coord = int>
  MB_FUNC auto get_destination_cooperative_tensor() const {
    return Destination<E>();
  }

  template <class A, class W, class D>
  MB_FUNC void run(A& activation, W& weights, D& destination) const {
    using Target = mb::bare<D>;
    using E = typename Target::value_type;
    static_assert(mb::bare<A>::rank() == 4 && mb::bare<W>::rank() == 4,
                  "convolution2d has tensors of four dimensions");
    static_assert(!mb::is_four_bits<typename mb::bare<A>::value_type> &&
                      !mb::is_four_bits<typename mb::bare<W>::value_type>,
                  "convolution2d has no elements of four bits");
    if constexpr (mb::is_cooperative<Target>) {
      convolve(activation, weights, destination);
    } else {
      Destination<E> sums;
      if constexpr (accumulates) sums.load(destination);
      convolve(activation, weights, sums);
      sums.store(destination);
    }
  }

 private:
  static constexpr bool accumulates =
      Descriptor.conv2d_mode == convolution2d_descriptor::mode::multiply_accumulate;

  template <class A, class W, class E>
  MB_FUNC void convolve(const A& activation, const W& weights, Destination<E>& destination) const {
    using Sum = mb::sum_of_products<typename A::value_type, typename W::value_type>;
    mb::expect_scope<Scope>();
    const int thread = mb::scope_traits<Scope>::thread();
    constexpr int wanted = Descriptor.source_dimensions.x;
    int inputs = mb::smaller_of(int(activation.mb_limits[0]), int(weights.mb_limits[1]));
    if constexpr (wanted > 0) inputs = mb::smaller_of(inputs, wanted);
#pragma clang loop unroll(full)
    for (int r = 0; r < Layout::row_slots; ++r) {
      const int at = Layout::row(thread, r);
      const int x = at % width, y = at / width % height, image = at / (width * height);
      Sum sums[Layout::column_slots];
#pragma clang loop unroll(full)
      for (int c = 0; c < Layout::column_slots; ++c)
        sums[c] = accumulates ? Sum(destination.mb_element[Layout::index(r, c)]) : Sum(0);
      for (int window_y = 0; window_y < Descriptor.kernel_dimensions.y; ++window_y) {
        const long from_y =
            input_position(y, window_y, Descriptor.kernel_dimensions.y, Descriptor.strides.y,
                           Descriptor.dilations.y, offsets_.y);
        if (from_y < 0 || from_y >= activation.mb_limits[2] || image >= activation.mb_limits[3] ||
            window_y >= weights.mb_limits[3])
          continue;
        for (int window_x = 0; window_x < Descriptor.kernel_dimensions.x; ++window_x) {
          const long from_x =
              input_position(x, window_x, Descriptor.kernel_dimensions.x, Descriptor.strides.x,
                             Descriptor.dilations.x, offsets_.x);
          if (from_x < 0 || from_x >= activation.mb_limits[1] || window_x >= weights.mb_limits[2])
            continue;
          add_inputs(sums, thread, activation, weights, inputs,
                     activation.mb_origin + from_x * activation.mb_strides[1] +
                         from_y * activation.mb_strides[2] + image * activation.mb_strides[3],
                     weights.mb_origin + window_x * weights.mb_strides[2] +
                         window_y * weights.mb_strides[3]);
        }
      }
#pragma clang loop unroll(full)
      for (int c = 0; c < Layout::column_slots; ++c)
        destination.mb_element[Layout::index(r, c)] = E(sums[c]);
    }
  }

  // Measured on an M5: the window begins half of its extent, rounded up, before the position.
  MB_FUNC static long input_position(int at, int in_window, int size, int stride, int dilation,
                                     int offset) {
    return long(at) * stride + offset + in_window * dilation - ((size - 1) * dilation + 1) / 2;
  }

  // Add the products of all input channels at one position.
  template <class Sum, class A, class W>
  MB_FUNC static void add_inputs(Sum* sums, int thread, const A& activation, const W& weights,
                                 int inputs, long from, long weight) {
    const long outputs = weights.mb_limits[0];
    if (outputs <= 0) return;
    for (int i = 0; i < inputs; ++i) {
      const Sum factor = Sum(activation.mb_data[from + i * activation.mb_strides[0]]);
#pragma clang loop unroll(full)
      for (int c = 0; c < Layout::column_slots; ++c) {
        const int column = Layout::column(thread, c);
        // Threads without a channel read the last one that exists; nothing stores their sums.
        const long channel = column < outputs ? column : outputs - 1;
        sums[c] = sums[c] + factor * Sum(weights.mb_data[weight + i * weights.mb_strides[1] +
                                                         channel * weights.mb_strides[0]]);
      }
    }
  }

  int2 offsets_ = int2(0);
};

}  // namespace mpp::tensor_ops
