// Reads the #include lines of src/ and checks them against the layers of the source (see CONTRIBUTING.md).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::map<std::string, int> kLayers = {
    {"base", 0},    {"config", 1}, {"cluster", 2}, {"device", 2},   {"graph", 2},   {"report", 2},
    {"kernels", 3}, {"launch", 3}, {"model", 3},   {"rpc", 3},      {"runtime", 4}, {"collective", 4},
    {"data", 4},    {"keras", 5},  {"onnx", 5},    {"strategy", 5}, {"train", 6},   {"bench", 7},
    {"serve", 7},   {"survey", 7}, {"doctor", 7},  {"tune", 7},     {"cli", 8},
};

/// The rooms of a folder: a later one sees the earlier ones. "" is what lies in the folder itself.
const std::map<std::string, std::vector<std::string>> kRooms = {
    {"data",
     {"", "files", "preprocessing", "arrays", "text", "pictures", "tables", "folders", "records", "reading", "sources",
      "order", "loading", "feeding", "first_look"}},
    {"keras", {"", "hdf5", "reading", "writing"}},
    {"strategy", {"types", "", "variables", "reduction", "steps", "mirrored", "parameter_server"}},
    {"serve", {"http", "tensors", "model", "page", "grpc", ""}},
    {"train", {"checkpoint", "configuration", "warnings", "session", "inference", "runs", "export", ""}},
};

/// The number of a path's room; none where its folder has no rooms.
std::optional<std::ptrdiff_t> room_of(const std::string& path) {
  const std::size_t folder = path.find('/'), room = path.find('/', folder + 1);
  const auto rooms = kRooms.find(path.substr(0, folder));
  if (rooms == kRooms.end()) return std::nullopt;
  const std::string name = room == path.npos ? "" : path.substr(folder + 1, room - folder - 1);
  return std::ranges::find(rooms->second, name) - rooms->second.begin();
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& beginnings) {
  for (const std::string& beginning : beginnings) {
    if (text.starts_with(beginning)) return true;
  }
  return false;
}

/// Arithmetic alone, which every device and the models share: it sees little, and is seen beside its layer.
const std::string kArithmetic = "kernels/scalar/";

/// Why `file` ("graph/graph.h") may not contain #include "header", or nothing.
std::string wrong_with_ours(const std::string& file, const std::string& header) {
  const std::string from = file.substr(0, file.find('/')), to = header.substr(0, header.find('/'));
  if (!kLayers.contains(to)) return "is not rooted at a folder of src/";
  if (from == to && kRooms.contains(from)) {
    const bool is_interface = file.starts_with("strategy/strategy.");
    if (*room_of(header) > *room_of(file) && !is_interface) return "is in a later room";
    // What the loop drives; only its bodies know it.
    if (header == "strategy/strategy.h" && !is_interface &&
        !starts_with_any(file, {"strategy/mirrored/", "strategy/parameter_server/"})) {
      return "is above this room";
    }
  }
  if (from == "model" && header.starts_with(kArithmetic)) return "";
  if (file.starts_with(kArithmetic) && !starts_with_any(header, {kArithmetic, "base/", "graph/"})) {
    return "is more than arithmetic needs";
  }
  if (from == "strategy" && starts_with_any(header, {"kernels/cpu/", "kernels/cuda/"})) {
    return "is a backend's own: strategies know Backend, StepKernels and host_kernels.h";
  }
  if (from == to || kLayers.at(to) < kLayers.at(from)) return "";
  return kLayers.at(to) == kLayers.at(from) ? "is a neighbour in the same layer" : "is in a higher layer";
}

/// The same for #include <header>.
std::string wrong_with_library(const std::string& file, const std::string& header) {
  const bool cuda_header = starts_with_any(header, {"cu", "nccl", "nv", "cooperative_groups", "thrust/"});
  if (cuda_header && !starts_with_any(file, {"device/cuda/", "kernels/cuda/", "collective/nccl/"})) {
    return "belongs to CUDA, which only device/cuda, kernels/cuda and collective/nccl see";
  }
  if (header == "mpi.h" && !starts_with_any(file, {"cluster/mpi/", "collective/mpi/"})) {
    return "belongs to MPI, which only cluster/mpi and collective/mpi see";
  }
  if (header == "hdf5.h" && !file.starts_with("keras/hdf5/")) return "belongs to HDF5, which only keras/hdf5 sees";
  if (header.starts_with("yaml-cpp/") && !(file.starts_with("config/") && file.ends_with(".cpp"))) {
    return "belongs to yaml-cpp, which only the .cpp files of config see";
  }
  return "";
}

/// One line for each include of `text`, the contents of `file`, that breaks a rule.
std::vector<std::string> violations(const std::string& file, const std::string& text) {
  static const std::regex include(R"((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"])");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
    const std::string header = (*match)[2];
    const std::string reason = (*match)[1] == "<" ? wrong_with_library(file, header) : wrong_with_ours(file, header);
    if (!reason.empty()) found.push_back("src/" + file + " includes " + header + ", which " + reason);
  }
  if (file.starts_with("strategy/") && text.find("dynamic_cast<const ops::") != text.npos) {
    found.push_back("src/" + file + " asks for the type of an op, which the graph and the backends know");
  }
  if (!file.starts_with("strategy/strategy_") && text.find("StrategyType::k") != text.npos) {
    found.push_back("src/" + file + " asks for a type of strategy, not for an ability of its declaration");
  }
  return found;
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(MIRRORTRAIN_SOURCE_DIR "/src")) {
    const std::string extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh")
      found.push_back(entry.path());
  }
  return found;
}

}  // namespace

TEST_CASE("an include of a higher layer, a neighbour, a later room or a misplaced library is reported") {
  CHECK(violations("graph/graph.cpp", "#include \"graph/graph.h\"\n#include \"base/shape.h\"\n#include <vector>\n")
            .empty());
  CHECK(violations("config/document.cpp", "#include <yaml-cpp/yaml.h>\n").empty());
  CHECK(violations("kernels/cuda/dense.cu", "#include <cublasLt.h>\n").empty());
  CHECK(violations("model/model.h", "#pragma once\n#include \"data/source.h\"").size() == 1);
  CHECK(violations("model/optimizers.h", "#include \"kernels/scalar/update_rules.h\"").empty());
  CHECK(violations("model/optimizers.h", "#include \"kernels/backend.h\"").size() == 1);
  CHECK(violations("kernels/scalar/math.h", "#include \"kernels/kernel.h\"").size() == 1);
  CHECK(violations("graph/graph.h", "  #  include \"device/device.h\"").size() == 1);
  CHECK(violations("graph/graph.h", "#include \"shape.h\"").size() == 1);
  CHECK(violations("strategy/steps/lane.h", "#include \"strategy/variables/memory_domain.h\"").empty());
  CHECK(violations("strategy/variables/memory_domain.h", "#include \"strategy/steps/lane.h\"").size() == 1);
  CHECK(violations("strategy/steps/lane.h", "#include \"strategy/strategy.h\"").size() == 1);
  CHECK(violations("strategy/steps/lane.cpp", "#include \"kernels/cpu/update.h\"").size() == 1);
  CHECK(violations("strategy/steps/lane.cpp", "if (dynamic_cast<const ops::Conv2d*>(op))").size() == 1);
  CHECK(violations("strategy/topology.h", "#include \"strategy/steps/lane.h\"").size() == 1);
  CHECK(violations("train/fit_run.cpp", "if (options.type == StrategyType::kMirrored)").size() == 1);
  CHECK(violations("train/fit_run.cpp", "if (options.declaration().has_servers)").empty());
  CHECK(violations("data/feeding/feeder.h", "#include \"data/dataset.h\"\n#include \"data/reading/gather.h\"").empty());
  CHECK(violations("data/dataset.h", "#include \"data/tables/csv.h\"").size() == 1);
  CHECK(violations("train/trainer.h", "#include \"train/checkpoint/checkpoint.h\"").empty());
  CHECK(violations("train/checkpoint/checkpoint.h", "#include \"train/trainer.h\"").size() == 1);
  CHECK(violations("config/document.h", "#include <yaml-cpp/yaml.h>\n").size() == 1);
  CHECK(violations("data/csv.cpp", "#include <yaml-cpp/yaml.h>\n").size() == 1);
  CHECK(violations("data/csv.cpp", "#include <hdf5.h>\n").size() == 1);
  CHECK(violations("collective/mpi/exchange.h", "#include <mpi.h>\n").empty());
  CHECK(violations("collective/communicator.h", "#include <mpi.h>\n").size() == 1);
  CHECK(violations("device/cpu/cpu_device.h", "#include <cuda_runtime.h>\n#include <nccl.h>\n").size() == 2);
}

TEST_CASE("every include in src goes to its own folder, to a lower layer or from model to scalar arithmetic") {
  const std::vector<fs::path> files = sources();
  REQUIRE_FALSE(files.empty());
  for (const fs::path& path : files) {
    const std::string file = fs::relative(path, MIRRORTRAIN_SOURCE_DIR "/src").generic_string();
    INFO(file);
    REQUIRE(kLayers.contains(file.substr(0, file.find('/'))));
    const auto rooms = kRooms.find(file.substr(0, file.find('/')));
    if (rooms != kRooms.end()) REQUIRE(*room_of(file) < std::ssize(rooms->second));
    std::ifstream stream(path);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (const std::string& violation : violations(file, text)) FAIL_CHECK(violation);
  }
}
