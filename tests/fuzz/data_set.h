#pragma once

#include <string>

#include "config/document.h"
#include "data/loading/load.h"
#include "fuzz/input_file.h"

namespace mirrortrain::fuzz {

/// Loads a training set with `source`, YAML in which FILE is the input's path, as a run does.
inline int load_data_set(std::string source, const std::uint8_t* bytes, std::size_t size) {
  const InputFile file(bytes, size);
  for (std::size_t at = source.find("FILE"); at != std::string::npos; at = source.find("FILE")) {
    source.replace(at, 4, file.path());
  }
  config::Errors errors;
  config::Document document =
      config::load_text("{global_batch_size: 2, train: " + source + "}", "fuzz.yaml", {}, errors);
  const auto options = config::read<data::DataOptions>(document, errors);
  errors.throw_if_any();
  try {
    data::load(options, 1, nullptr);
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace mirrortrain::fuzz
