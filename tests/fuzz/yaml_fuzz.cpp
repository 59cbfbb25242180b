#include "config/document.h"
#include "data/sources/data_options.h"

// The data's section has every kind of value: choices with and without a tag, lists, numbers, sizes, words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  config::Errors errors;
  try {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    config::Document document = config::load_text(text, "fuzz.yaml", {}, errors);
    const auto options = config::read<data::DataOptions>(document, errors);
    errors.throw_if_any();
    // What is right is shown as what means the same.
    config::Errors again;
    config::Document shown = config::load_text(config::show(options, document), "shown.yaml", {}, again);
    config::read<data::DataOptions>(shown, again);
    if (!again.empty()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
