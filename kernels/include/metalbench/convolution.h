// Convolutions of stride 1 as matrix products without a matrix of patches (window_sources.h): rows
// of A are output pixels, columns of A and of the filters (filters, taps, channels) are taps times
// channels. Those of other steps, and transposed ones, are in window_products.h.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/window_sources.h"

namespace metalbench {

// The patches of Deep x High x Wide taps of an input of type T, as elements of type As. Same pads
// with zeros so that the output is as large as the input, without it there is no padding. With
// Pool > 1 the pixels of a pooling window are neighbouring rows.
template <typename T, typename As, uint Deep, uint High, uint Wide, bool Same = false,
          uint Pool = 1>
using Patches =
    Windows<T,
            Forward<Along<Deep, 1, Same ? Deep / 2 : 0>, Along<High, 1, Same ? High / 2 : 0>,
                    Along<Wide, 1, Same ? Wide / 2 : 0>>,
            Pool, As>;

}  // namespace metalbench
