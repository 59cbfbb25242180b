#include "train/checkpoint.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/safetensors.h"
#include "train/weights.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".unfinished";

std::string folder_name(std::int64_t step) { return fmt::format("{}{:06}", kPrefix, step); }

Json to_json(const Sums& sums) { return {{"loss", sums.loss}, {"metrics", sums.metrics}, {"examples", sums.examples}}; }

Sums sums_from(const Json& json) {
  Sums sums;
  sums.loss = json.at("loss").get<double>();
  sums.metrics = json.at("metrics").get<std::vector<double>>();
  sums.examples = json.at("examples").get<std::int64_t>();
  return sums;
}

std::string slot_tensor(const DistributedVariable& variable, const std::string& slot) {
  return fmt::format("optimizer/{}/{}", slot, variable.name());
}

std::string copy_tensor(const DistributedVariable& variable, int replica) {
  return fmt::format("replica_{}/{}", replica, variable.name());
}

const StoredTensor& tensor_like(const StoredTensors& stored, const std::string& name,
                                const DistributedVariable& variable) {
  const auto found = stored.find(name);
  if (found == stored.end() || found->second.shape != variable.shape() || found->second.dtype != DType::kFloat32) {
    throw Error(fmt::format("training.safetensors: expected {} {} float32", name, variable.shape().text()));
  }
  return found->second;
}

void require_checksum(const fs::path& file, const Json& checksums) {
  const auto bytes = read_file(file);
  if (crc32_of(bytes) != checksums.at(file.filename().string()).get<std::uint32_t>()) {
    throw Error(fmt::format("{}: the checksum does not match", file.filename().string()));
  }
}

}  // namespace

Checkpoints::Checkpoints(fs::path folder, const VariableStore& variables, std::vector<std::string> slot_names,
                         std::uint64_t seed)
    : folder_(std::move(folder)), variables_(variables), slot_names_(std::move(slot_names)), seed_(seed) {}

void Checkpoints::save(const TrainingState& state, std::int64_t keep) {
  create_folders(folder_);
  const fs::path final_name = folder_ / folder_name(state.step);
  const fs::path temporary = final_name.string() + std::string(kUnfinished);
  fs::remove_all(temporary);
  create_folders(temporary);

  const std::uint32_t model_checksum = save_weights(temporary / "model.safetensors", variables_);
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < variables_.variables().size(); ++i) {
    const DistributedVariable& variable = variables_.variables()[i];
    const auto add = [&](std::string name, std::span<const float> values) {
      tensors.push_back({std::move(name), DType::kFloat32, variable.shape(), std::as_bytes(values)});
    };
    for (int slot = 0; variables_.trainable(i) && slot < variables_.slots(); ++slot) {
      add(slot_tensor(variable, slot_names_[static_cast<std::size_t>(slot)]), variables_.slot(i, slot));
    }
    for (int r = 0; variable.policy().copies_can_differ() && r < variable.replicas(); ++r) {
      add(copy_tensor(variable, r), variable.copy(r));
    }
  }
  const std::uint32_t training_checksum = write_safetensors(temporary / "training.safetensors", std::move(tensors));
  const Json json = {
      {"format", 1},
      {"step", state.step},
      {"updates", state.updates},
      {"epoch", state.position.epoch},
      {"position", state.position.examples},
      {"seed", seed_},
      {"replicas", variables_.variables().empty() ? 0 : variables_.variables().front().replicas()},
      {"seconds", state.seconds},
      {"epoch_sums", to_json(state.epoch_sums)},
      {"step_sums", to_json(state.step_sums)},
      {"checksums", {{"model.safetensors", model_checksum}, {"training.safetensors", training_checksum}}},
  };
  write_file(temporary / "state.json", json.dump(2) + "\n");
  fs::remove_all(final_name);
  rename_durably(temporary, final_name);

  const std::vector<fs::path> all = by_step();
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) fs::remove_all(all[i]);
}

std::optional<TrainingState> Checkpoints::restore() {
  const std::vector<fs::path> all = by_step();
  std::vector<fs::path> damaged;
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint) {
    try {
      TrainingState state = restore_from(*checkpoint);
      if (!damaged.empty()) spdlog::warn("using {} instead", checkpoint->filename().string());
      for (const fs::path& broken : damaged) fs::remove_all(broken);
      remove_unfinished();
      return state;
    } catch (const std::exception& error) {
      spdlog::warn("{} is damaged: {}", checkpoint->filename().string(), error.what());
      damaged.push_back(*checkpoint);
    }
  }
  if (!damaged.empty()) {
    throw Error(fmt::format("{}: every checkpoint is damaged; start a new run", folder_.string()));
  }
  remove_unfinished();
  return std::nullopt;
}

TrainingState Checkpoints::restore_from(const fs::path& checkpoint) {
  const Json json = Json::parse(read_text_file(checkpoint / "state.json"));
  require_checksum(checkpoint / "model.safetensors", json.at("checksums"));
  require_checksum(checkpoint / "training.safetensors", json.at("checksums"));
  TrainingState state;
  state.step = json.at("step").get<std::int64_t>();
  state.updates = json.at("updates").get<std::int64_t>();
  state.position = {json.at("epoch").get<std::int64_t>(), json.at("position").get<std::int64_t>()};
  state.seconds = json.at("seconds").get<double>();
  state.epoch_sums = sums_from(json.at("epoch_sums"));
  state.step_sums = sums_from(json.at("step_sums"));

  load_weights(checkpoint / "model.safetensors", variables_);
  const StoredTensors stored = read_safetensors(checkpoint / "training.safetensors");
  const bool same_replicas =
      !variables_.variables().empty() && json.at("replicas").get<int>() == variables_.variables().front().replicas();
  for (std::size_t i = 0; i < variables_.variables().size(); ++i) {
    const DistributedVariable& variable = variables_.variables()[i];
    for (int slot = 0; variables_.trainable(i) && slot < variables_.slots(); ++slot) {
      const std::string name = slot_tensor(variable, slot_names_[static_cast<std::size_t>(slot)]);
      const auto values = tensor_like(stored, name, variable).span<float>();
      std::copy(values.begin(), values.end(), variables_.slot(i, slot).begin());
    }
    // With another number of replicas every copy goes on from what reading outside gave, which load_weights assigned.
    for (int r = 0; same_replicas && variable.policy().copies_can_differ() && r < variable.replicas(); ++r) {
      const auto values = tensor_like(stored, copy_tensor(variable, r), variable).span<float>();
      std::copy(values.begin(), values.end(), variable.copy(r).begin());
    }
  }
  return state;
}

std::vector<fs::path> Checkpoints::by_step() const {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos) {
      found.push_back(entry.path());
    }
  }
  // Longer numbers are later ones.
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string(), right = b.filename().string();
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  return found;
}

std::optional<fs::path> Checkpoints::newest() const {
  const std::vector<fs::path> all = by_step();
  return all.empty() ? std::nullopt : std::optional(all.back());
}

void Checkpoints::remove_unfinished() const {
  std::error_code missing;
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, missing)) {
    if (entry.path().filename().string().ends_with(kUnfinished)) unfinished.push_back(entry.path());
  }
  for (const fs::path& folder : unfinished) fs::remove_all(folder);
}

}  // namespace mirrortrain
