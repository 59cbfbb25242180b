#include "train/checkpoint/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/safetensors.h"
#include "base/utf8.h"

namespace mirrortrain {
void throw_mismatches(const std::string& file, std::vector<std::string> mismatches, const std::string& remedy) {
  if (mismatches.empty()) return;
  constexpr std::size_t kShown = 10;
  const std::size_t more = mismatches.size() > kShown ? mismatches.size() - kShown : 0;
  if (more > 0) mismatches.resize(kShown);
  throw Error(fmt::format("{}: the weights do not fit the model{}:\n  {}{}", file, remedy,
                          fmt::join(mismatches, "\n  "), more > 0 ? fmt::format("\n  and {} more", more) : ""));
}

void require_fit(const StoredTensors& stored, const std::string& file, Strategy& strategy, const std::string& remedy) {
  TensorSpecs specs;
  for (const auto& [name, tensor] : stored) specs.emplace(name, TensorSpec{name, tensor.dtype, tensor.shape});
  require_fit(specs, file, strategy, remedy);
}

void require_fit(const TensorSpecs& stored, const std::string& file, Strategy& strategy, const std::string& remedy) {
  std::vector<std::string> mismatches;
  std::set<std::string_view> known;
  strategy.read_variables(Lasting::kNone, [&](const LastingVariable& variable) {
    const DistributedVariable& value = variable.value;
    const auto found = stored.find(value.name());
    if (found == stored.end()) {
      mismatches.push_back(fmt::format("{} {} is missing", value.name(), value.shape().text()));
      return;
    }
    known.insert(found->first);
    if (found->second.shape != value.shape()) {
      mismatches.push_back(fmt::format("{}: the model has the shape {}, the file {}", value.name(),
                                       value.shape().text(), found->second.shape.text()));
    } else if (found->second.dtype != DType::kFloat32) {
      mismatches.push_back(fmt::format("{}: expected float32, found {}; convert the weights to F32", value.name(),
                                       name_of(found->second.dtype)));
    }
  });
  for (const auto& [name, tensor] : stored) {
    if (known.contains(name)) continue;
    mismatches.push_back(fmt::format("{} {} is not in the model", shortened(name, 200), tensor.shape.text()));
  }
  throw_mismatches(file, std::move(mismatches), remedy);
}

void load_weights(const std::filesystem::path& file, Strategy& strategy, const std::string& remedy) {
  StoredTensors stored;
  if (strategy.topology().is_chief()) stored = read_safetensors(file);
  load_weights(stored, file.string(), strategy, remedy);
}

void load_weights(const StoredTensors& stored, const std::string& file, Strategy& strategy, const std::string& remedy) {
  if (strategy.topology().is_chief()) require_fit(stored, file, strategy, remedy);
  strategy.write_variables(Lasting::kValues, [&](const LastingVariable& variable) {
    variable.value.set(stored.find(variable.value.name())->second.data.data());
  });
}

StoredTensors copy_weights(Strategy& strategy, bool keeps) {
  StoredTensors weights;
  strategy.read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
    if (!keeps) return;
    const DistributedVariable& value = variable.value;
    StoredTensor& tensor = weights[value.name()];
    tensor = {value.dtype(), value.shape(), std::vector<std::byte>(value.bytes())};
    value.read_or_first(tensor.data.data());
  });
  return weights;
}

std::uint32_t save_weights(const std::filesystem::path& file, Strategy& strategy) {
  const bool is_chief = strategy.topology().is_chief();
  std::vector<TensorSpec> specs;
  strategy.read_variables(Lasting::kValues | Lasting::kShapesAlone, [&](const LastingVariable& variable) {
    specs.push_back({variable.value.name(), variable.value.dtype(), variable.value.shape()});
  });
  std::optional<SafetensorsWriter> writer;
  if (is_chief) writer.emplace(file, std::move(specs));
  std::vector<std::byte> value;
  strategy.read_in_pieces(Lasting::kValues, [&](const LastingPiece& piece) {
    if (!is_chief) return;
    writer->append(piece.elements.name(), piece.elements.read_or_first(value));
  });
  return is_chief ? writer->commit() : 0;
}

std::uint32_t save_weights(const std::filesystem::path& file, const StoredTensors& weights) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : weights) tensors.push_back({name, tensor.dtype, tensor.shape, tensor.data});
  return write_safetensors(file, std::move(tensors));
}

}  // namespace mirrortrain
