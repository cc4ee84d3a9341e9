// Several texts of different lengths in one array of tokens, without padding: the tokens of text t
// are those from starts[t] to starts[t + 1] - 1. A threadgroup has a block of Rows tokens of one
// text. It counts the blocks of the texts before, as only starts says how many there are. Needs
// ceil_div(tokens, Rows) + texts threadgroups, some of which find no block.
#pragma once
#include <metal_stdlib>

namespace metalbench {

struct TextBlock {
  uint text;    // `texts` if there is none
  uint block;   // of the text
  uint begin;   // the text's first token
  uint tokens;  // of the text
};

template <uint Rows>
inline TextBlock find_text_block(device const uint* starts, uint texts, uint group) {
  for (uint text = 0; text < texts; ++text) {
    const uint begin = starts[text];
    const uint tokens = starts[text + 1] - begin;
    const uint blocks = (tokens + Rows - 1) / Rows;
    if (group < blocks) {
      return {text, group, begin, tokens};
    }
    group -= blocks;
  }
  return {texts, 0, 0, 0};
}

}  // namespace metalbench
