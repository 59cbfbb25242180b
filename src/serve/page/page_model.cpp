#include <nlohmann/json.hpp>

#include "serve/model/served_model.h"
#include "serve/page/page.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_of(const ServedInput& input) {
  switch (input.kind) {
    case ServedInput::Kind::kPictures: return "picture";
    case ServedInput::Kind::kCells: return "text";
    case ServedInput::Kind::kNumbers: break;
  }
  if (!input.columns.empty()) return "columns";
  // [-1, height, width, channels]: a picture can be drawn to that size.
  if (input.shape.size() == 4 && (input.shape.back() == 1 || input.shape.back() == 3)) return "pixels";
  // [-1, height, width] or [-1, time steps, features], which nothing distinguishes.
  const bool has_two_extents = input.shape.size() == 3 && input.shape[1] > 0 && input.shape[2] > 0;
  return has_two_extents ? "numbers_or_pixels" : "numbers";
}

}  // namespace

nlohmann::ordered_json page_model(const ServedModel& model) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const ServedInput& input : model.inputs()) {
    inputs.push_back({{"name", input.name},
                      {"kind", kind_of(input)},
                      {"shape", input.shape},
                      {"columns", input.columns},
                      {"words", input.words}});
  }
  for (const ServedOutput& output : model.outputs()) {
    const OutputMeaning& meaning = model.meaning(output);
    Json classes = Json::array();
    for (std::int64_t i = 0; meaning.tells_classes() && i < meaning.number_of_classes(); ++i) {
      classes.push_back(meaning.name_of(i).empty() ? std::to_string(i) : meaning.name_of(i));
    }
    outputs.push_back({{"name", output.name},
                       {"of", meaning.layer},
                       {"probabilities", output.are_probabilities},
                       {"by_step", meaning.is_by_step()},
                       {"yes_or_no", meaning.kind == OutputMeaning::Kind::kYesOrNo},
                       {"classes", classes}});
  }
  return {{"name", model.name()}, {"inputs", inputs}, {"outputs", outputs}};
}

}  // namespace mirrortrain
