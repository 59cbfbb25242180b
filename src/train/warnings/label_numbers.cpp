#include "train/warnings/label_numbers.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "data/row_blocks.h"

namespace mirrortrain {

LabelNumbers label_numbers(const data::Dataset& examples, std::size_t output) {
  constexpr std::int64_t kEnough = 1 << 24;  // numbers
  LabelNumbers numbers;
  const data::Labels& own = examples.outputs()[output];
  const data::Array& labels = own.array;
  const auto width = static_cast<std::size_t>(labels.row_elements());
  const std::int64_t rows = std::min(examples.rows(), kEnough / std::max<std::int64_t>(1, labels.row_elements()) + 1);
  const auto group = static_cast<std::size_t>(labels.row_shape().rank() == 0 ? 1 : labels.row_shape().back());
  data::with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    data::for_each_block<T>(labels, examples.first_row(), rows, [&](std::int64_t row, std::span<const T> block) {
      for (; !block.empty(); block = block.subspan(width), ++row) {
        if (!own.is_present(row)) continue;
        double total = 0;
        for (std::size_t i = 0; i < width; ++i) {
          const auto label = static_cast<double>(block[i]);
          numbers.add(label);
          total += label;
          if ((i + 1) % group != 0) continue;
          numbers.add_group(total);
          total = 0;
        }
      }
      return true;
    });
  });
  return numbers;
}

bool are_bytes(const data::Array& labels, const LabelNumbers& numbers) {
  const bool fill_bytes = numbers.least == 0 && numbers.most == 255;
  return labels.row_shape().rank() >= 2 && numbers.most > 1 && (labels.dtype == DType::kUint8 || fill_bytes);
}

}  // namespace mirrortrain
