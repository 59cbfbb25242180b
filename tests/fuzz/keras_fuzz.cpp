// The layers, the loss and the optimizer of a model of Keras's: the text of its config.json.
#include <string_view>

#include "base/error.h"
#include "keras/reading/convert_model.h"
#include "keras/reading/convert_training.h"
#include "keras/reading/named_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  try {
    const keras::Json model = keras::parse_json({reinterpret_cast<const char*>(bytes), size}, "config.json");
    keras::Problems problems;
    const keras::ConvertedModel converted = keras::convert_model(model, {}, problems);
    keras::convert_training(keras::at(model, "compile_config"), converted.outputs, converted.output_names, problems);
    keras::origins_in(model);
    problems.throw_if_any("model.keras");
  } catch (const Error&) {
  }
  return 0;
}
