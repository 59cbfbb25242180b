#include "keras/reading/masks_in_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace mirrortrain::keras {
namespace {

constexpr int kMostJoined = 500;  // operations that masks go through, one behind the other

bool joins(const std::string& operation) {
  constexpr std::array<std::string_view, 8> kJoining = {"Any",     "All",         "LogicalOr",   "ExpandDims",
                                                        "Squeeze", "Concatenate", "BroadcastTo", "ConvertToTensor"};
  return std::ranges::find(kJoining, operation) != kJoining.end();
}

}  // namespace

std::string comparison(const Tensor& of, const Json& number) {
  return fmt::format("{}/{}/{} {}", of.layer, of.call, of.output, number.is_number() ? number.get<double>() : 0.0);
}

std::optional<std::set<std::string>> MasksInFile::makers_of(const Tensor& mask, int level) {
  const auto [known, is_new] = known_.try_emplace({mask.layer, mask.call});
  const NetworkLayer* const from = network_.find(mask.layer);
  if (is_new && level < kMostJoined && from != nullptr && from->is_operation()) {
    known->second = made_by(*from, from->calls[mask.call], level);
  }
  return known->second;
}

std::optional<std::set<std::string>> MasksInFile::made_by(const NetworkLayer& operation, const Call& call, int level) {
  const std::string& type = operation.class_name;
  if (type == "NotEqual") {
    const bool is_of_number = call.inputs.size() == 1 && call.arguments.is_array() && call.arguments.size() == 2 &&
                              call.arguments[1].is_number();
    return is_of_number ? std::optional(std::set{comparison(call.inputs[0], call.arguments[1])}) : std::nullopt;
  }
  if (type == "OnesLike" || type == "ZerosLike") return std::set<std::string>();
  if (!joins(type)) return std::nullopt;
  std::set<std::string> all;
  for (const Tensor& part : call.inputs) {
    const auto makers = makers_of(part, level + 1);
    if (!makers) return std::nullopt;
    all.insert(makers->begin(), makers->end());
  }
  if (type == "All") {  // in files of early versions, of masks side by side: the same where these are one
    const NetworkLayer* const from = call.inputs.size() == 1 ? network_.find(call.inputs[0].layer) : nullptr;
    if (from == nullptr || from->class_name != "Concatenate" || all.size() != 1) return std::nullopt;
  }
  return all;
}

}  // namespace mirrortrain::keras
