#include "keras/layer_names.h"

#include <cctype>

namespace mirrortrain::keras {

std::string LayerNames::unique(std::string_view wanted) {
  std::string name;
  for (const char c : wanted) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_allowed = byte >= 0x80 || std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '-';
    name += is_allowed ? c : '_';
  }
  if (name.empty()) name = "layer";
  const std::string base = name;
  for (int number = 1; taken_.contains(name); ++number) name = base + "_" + std::to_string(number);
  taken_.insert(name);
  return name;
}

}  // namespace mirrortrain::keras
