#include "data/loading/picture_form.h"

#include <variant>

namespace mirrortrain::data {

std::optional<PictureForm> picture_form(const Source& source, const TableInput* columns, const std::string& input) {
  if (columns != nullptr) {
    const auto* const pictures = std::get_if<TableInput::Pictures>(&columns->content);
    return pictures != nullptr ? std::optional(pictures->form) : std::nullopt;
  }
  if (const auto* const folder = std::get_if<ImageFolder>(&source))
    return PictureForm{folder->image_size, folder->color};
  if (const auto* const samples = std::get_if<WebDataset>(&source)) {
    const SampleInput* const own = samples->inputs.find(input);
    if (own == nullptr) return PictureForm{samples->image_size, samples->color};
    return PictureForm{own->image_size ? own->image_size : samples->image_size, own->color.value_or(samples->color)};
  }
  const auto* const records = std::get_if<TfRecord>(&source);
  if (records == nullptr) return std::nullopt;
  for (const auto& [name, options] : records->inputs.entries) {
    if (name != input) continue;
    if (!options.image) return std::nullopt;
    return PictureForm{options.image_size ? options.image_size : records->image_size,
                       options.color.value_or(records->color)};
  }
  return records->image ? std::optional(PictureForm{records->image_size, records->color}) : std::nullopt;
}

}  // namespace mirrortrain::data
