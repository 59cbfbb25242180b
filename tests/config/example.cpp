#include "config/example.h"

namespace mirrortrain::example {

config::Section<Save> Save::section() {
  return config::Section<Save>("What to keep.")
      .key("metric", &Save::metric, "By what.", config::non_empty)
      .key("mode", &Save::mode, "Which is better.");
}

config::Section<Root> Root::section() {
  return config::Section<Root>("A run.")
      .key("name", &Root::name, "The run's name.", config::non_empty)
      .key("seed", &Root::seed, "Of all randomness.")
      .key("layers", &Root::layers, "The model's layers.")
      .key("optimizer", &Root::optimizer, "The optimizer.")
      .key("validation", &Root::validation, "What is held back.")
      .key("save", &Root::save, "What is saved.")
      .key("devices", &Root::devices, "`all` or a list.")
      .key("pack", &Root::pack, "Bytes of a pack.")
      .key("scale", &Root::scale, "A factor.")
      .key("threads", &Root::threads, "Threads.", config::at_least(1))
      .key("precision", &Root::precision, "The arithmetic.", config::one_of({"float32", "mixed_bfloat16"}))
      .key("steps", &Root::steps, "Number of steps.");
}

std::string errors_of(std::string_view text, const std::vector<std::string>& overrides) {
  try {
    config::Errors errors;
    config::Document document = config::load_text(text, "a.yaml", overrides, errors);
    config::read<Root>(document, errors);
    errors.throw_if_any();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

Root root_of(std::string_view text, const std::vector<std::string>& overrides) {
  config::Errors errors;
  config::Document document = config::load_text(text, "a.yaml", overrides, errors);
  Root root = config::read<Root>(document, errors);
  errors.throw_if_any();
  return root;
}

}  // namespace mirrortrain::example
