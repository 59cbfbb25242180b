#include "strategy/mesh_options.h"

#include <algorithm>
#include <string>

namespace mirrortrain {
namespace {

constexpr std::int64_t kMostPlaces = 1024;

std::string size_error(const MeshSize& size) {
  const std::int64_t number = number_of(size).value_or(1);
  return number >= 1 && number <= kMostPlaces ? "" : "expected `auto` or a number of places from 1 to 1024";
}

}  // namespace

config::Section<MeshOptions> MeshOptions::section() {
  return config::Section<MeshOptions>(
             "The places of the run, data x model, dealt to the devices in order, the model index fastest. The places "
             "of a replica compute its part of each batch together, each with parts of the layers' weights.")
      .key("data", &MeshOptions::data, "Number of replicas; auto: as many as the devices have room for.",
           config::aliases("dp, batch, data_parallel"))
      .key("model", &MeshOptions::model,
           "Number of places that divide the layers of a replica; auto: as many as the devices have room for.",
           config::aliases("tp, tensor_parallel, model_parallel"))
      .check("data", [](const MeshOptions& options) { return size_error(options.data); })
      .check("model", [](const MeshOptions& options) { return size_error(options.model); });
}

}  // namespace mirrortrain
