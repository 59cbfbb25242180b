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
  if (const auto* const samples = std::get_if<WebDataset>(&source)) return samples->form_of(input);
  const auto* const records = std::get_if<TfRecord>(&source);
  return records != nullptr ? records->form_of(input) : std::nullopt;
}

}  // namespace mirrortrain::data
