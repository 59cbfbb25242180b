#include "strategy/strategy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "strategy/topology.h"

namespace mirrortrain {

config::Section<CommunicationOptions> CommunicationOptions::section() {
  return config::Section<CommunicationOptions>("How devices communicate.")
      .key("timeout_seconds", &CommunicationOptions::timeout_seconds,
           "Seconds that a device waits for the others in a step before the run fails; 0: no limit.",
           config::at_least(0))
      .key("join_timeout_seconds", &CommunicationOptions::join_timeout_seconds,
           "Seconds that a task of a cluster waits until every other one has joined; 0: no limit.", config::at_least(0))
      .key("bytes_per_pack", &CommunicationOptions::bytes_per_pack,
           "Size of a gradient bucket, whose gradients are reduced together as soon as backward has computed them: in "
           "bytes, or as 64K = 64KiB = 65536, 25MiB, 1MB = 1000000; 0: one bucket; null: 1MiB for the first one, so "
           "that communication begins early, and 25MiB for the others.")
      .key("implementation", &CommunicationOptions::implementation,
           "Transport of sums between workers: ring adds over the network (gloo, or MPI under mpirun), nccl between "
           "GPUs; auto: nccl where the replicas are on GPUs, else memory that the workers share where all are on one "
           "machine, else ring.")
      .key("compression", &CommunicationOptions::compression,
           "Wire format of gradients between workers, or between GPUs over NCCL: none: float32; bfloat16: half the "
           "bytes, where the network is slow. Rounding errors are kept and added to the next step's gradients (error "
           "feedback), also over a resume.");
}

namespace {
/// The remedy for what needs several replicas.
constexpr const char* kUseReplicas = "use `type: mirrored` or multi_worker_mirrored";

std::string help_of_types() {
  std::string help;
  for (const strategies::Declaration* const type : kStrategyTypes) {
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", type->name, type->help);
  }
  return help + ".";
}

bool is_cpu(const DeviceId& device) { return device.kind == DeviceId::Kind::kCpu; }

/// What a pipeline does not go with; empty if there is nothing.
std::string pipeline_error(const StrategyOptions& options) {
  if (!options.pipeline) return "";
  if (!options.declaration().has_replicas_in_sync) {
    return fmt::format("{} computes all layers on one device; {}", options.declaration().name, kUseReplicas);
  }
  if (options.cross_device_ops != CrossDeviceOps::kAuto) {
    return "microbatches are added in their order; leave cross_device_ops out";
  }
  if (options.cpu_replicas) {
    return "write the number of replicas as mesh.data, or as replicas; leave cpu_replicas out";
  }
  if (!options.declaration().on_cluster) return "";
  if (options.elastic) return "a worker that leaves takes its stages with it; leave elastic out";
  if (options.communication.compression != Compression::kNone) {
    return "compression of gradients between workers does not know stages yet; leave communication.compression out, or "
           "pipeline";
  }
  if (options.optimizer_state != OptimizerState::kReplicated && options.optimizer_state != OptimizerState::kSharded) {
    return fmt::format(
        "the workers of a pipeline do not divide gradients and weights among replicas yet; use "
        "optimizer_state: sharded in place of {}",
        config::name_of(options.optimizer_state));
  }
  return "";
}

/// What is wrong with the mesh whatever the devices are; empty if nothing is.
std::string mesh_error(const StrategyOptions& options) {
  if (!options.mesh) return "";
  const std::int64_t data = number_of(options.mesh->data).value_or(1),
                     model = number_of(options.mesh->model).value_or(1);
  if (!number_of(options.mesh->data) && !number_of(options.mesh->model)) {
    return "expected a number for data or for model, found auto for both; write {data: auto, model: 2}, where 2 "
           "devices share a replica";
  }
  if (data * model > 1 && !options.declaration().has_replicas_in_sync) {
    return fmt::format("{} has no places but one of its devices; {}", options.declaration().name, kUseReplicas);
  }
  if (options.replicas && number_of(options.mesh->data) && *options.replicas != data) {
    return fmt::format(
        "a replica is a row of the mesh, so that there are {}, but strategy.replicas is {}; leave replicas "
        "out",
        data, *options.replicas);
  }
  if (options.replicas && !number_of(options.mesh->data))
    return "write the number of replicas as `data`, not as replicas";
  return model > 1 ? conflict_with_divided_layers(options) : "";
}
}  // namespace

std::string conflict_with_divided_layers(const StrategyOptions& options) {
  if (options.cross_device_ops != CrossDeviceOps::kAuto) {
    return "where several places divide the layers, how they add is chosen by itself; leave cross_device_ops out";
  }
  if (options.communication.compression != Compression::kNone) {
    return "compression of gradients does not know divided layers yet; leave communication.compression out";
  }
  return "";
}

config::Section<StrategyOptions> StrategyOptions::section() {
  return config::Section<StrategyOptions>("Distribution of training over devices.")
      .key("type", &StrategyOptions::type, help_of_types())
      .key("devices", &StrategyOptions::devices,
           "`all`: every visible GPU, or CPU replicas where there is none; or a list such as [cpu:0, cpu:1].",
           config::non_empty, config::aliases("gpu, gpus, device, num_gpus, n_gpus"),
           config::advice("auto, null, none, -1, []", "write all"))
      .key("replicas", &StrategyOptions::replicas,
           "Number of replicas in sync, a multiple of the number of devices; null: one for each device listed.",
           config::between(1, 1024))
      .key("cpu_replicas", &StrategyOptions::cpu_replicas,
           "Number of CPU replicas with `devices: all` and no GPU; null: chosen by the cores and the batch size.",
           config::between(1, 1024))
      .key("threads_per_replica", &StrategyOptions::threads_per_replica,
           "Number of threads of a CPU replica; null: the cores divided by the replicas.", config::between(1, 1024))
      .key("mesh", &StrategyOptions::mesh,
           "Devices in two axes, where several divide the layers of a replica; null: each replica has one device.")
      .key("pipeline", &StrategyOptions::pipeline,
           "Layers in stages on devices of their own, of one worker or several, computing one microbatch after "
           "another; null: each replica's devices compute all layers.",
           config::aliases("pipeline_parallel, pp"))
      .key("optimizer_state", &StrategyOptions::optimizer_state,
           "Where the optimizer's state is: replicated: all of it in each memory, a worker's or a GPU's; sharded: each "
           "memory keeps and updates its part alone, and then the weights are gathered (ZeRO 1); sharded_gradients: "
           "each memory keeps parts of the gradients and of the weights between steps too (ZeRO 2); sharded_weights: "
           "weights are whole only while a layer computes with them (ZeRO 3).",
           config::aliases("zero, zero_stage, zero_optimization"))
      .key("cross_device_ops", &StrategyOptions::cross_device_ops, "Algorithm that sums gradients across replicas.")
      .key("reduce_to_device", &StrategyOptions::reduce_to_device,
           "The device on which reduction_to_one_device sums; null: the first.")
      .key("communication", &StrategyOptions::communication, "How devices communicate.")
      .key("partitioner", &StrategyOptions::partitioner,
           "How parameter_server splits variables along axis 0 over the servers; null: each is kept whole.")
      .key("max_staleness", &StrategyOptions::max_staleness,
           "With parameter_server: the largest number of updates that others may apply between a worker's reading the "
           "variables and the update computed from them; 0: one step at a time; null: no limit.",
           config::at_least(0))
      .key("elastic", &StrategyOptions::elastic,
           "With multi_worker_mirrored: when a worker is lost, whether the others resume from the last checkpoint "
           "without it, until it comes back.")
      .key("cluster", &StrategyOptions::cluster, "The processes of a run on several machines.")
      .check("devices",
             [](const StrategyOptions& options) -> std::string {
               const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices);
               if (listed == nullptr) return "";
               const auto cpus = std::count_if(listed->begin(), listed->end(), is_cpu);
               if (cpus > 0 && cpus < std::ssize(*listed)) return kMixedDevices;
               if (listed->size() == 1) return "";
               return fmt::format(fmt::runtime(options.declaration().refuses.several_devices), listed->size());
             })
      .check("cross_device_ops",
             [](const StrategyOptions& options) -> std::string {
               const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices);
               const bool cpus = listed != nullptr && std::any_of(listed->begin(), listed->end(), is_cpu);
               return cpus && options.cross_device_ops == CrossDeviceOps::kNccl ? kNcclNeedsGpus : "";
             })
      .check("cross_device_ops",
             [](const StrategyOptions& options) -> std::string {
               const bool is_chosen = options.cross_device_ops != CrossDeviceOps::kAuto;
               return std::string(is_chosen ? options.declaration().refuses.cross_device_ops : "");
             })
      .check("communication",
             [](const StrategyOptions& options) -> std::string {
               const CommunicationOptions& communication = options.communication;
               const bool is_chosen = communication.bytes_per_pack ||
                                      communication.implementation != Transport::kAuto ||
                                      communication.compression != Compression::kNone;
               return std::string(is_chosen ? options.declaration().refuses.communication : "");
             })
      .check("mesh", mesh_error)
      .check("pipeline", pipeline_error)
      .check("optimizer_state",
             [](const StrategyOptions& options) -> std::string {
               if (options.optimizer_state == OptimizerState::kReplicated) return "";
               if (!options.declaration().has_replicas_in_sync) {
                 return fmt::format("{} has no replicas to divide it among; {}, or leave it out",
                                    options.declaration().name, kUseReplicas);
               }
               return options.communication.compression == Compression::kNone
                          ? ""
                          : "compression of gradients does not know a divided state yet; leave "
                            "communication.compression out";
             })
      .check("partitioner",
             [](const StrategyOptions& options) -> std::string {
               return std::string(options.partitioner ? options.declaration().refuses.server_keys : "");
             })
      .check("max_staleness",
             [](const StrategyOptions& options) -> std::string {
               return std::string(options.max_staleness ? options.declaration().refuses.server_keys : "");
             })
      .check("reduce_to_device",
             [](const StrategyOptions& options) -> std::string {
               if (!options.reduce_to_device) return "";
               if (options.cross_device_ops != CrossDeviceOps::kReductionToOneDevice)
                 return "belongs to `cross_device_ops: reduction_to_one_device`";
               const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices);
               if (listed == nullptr || std::count(listed->begin(), listed->end(), *options.reduce_to_device) > 0)
                 return "";
               return fmt::format("{} is not among the devices listed", options.reduce_to_device->text());
             })
      .check("replicas", [](const StrategyOptions& options) -> std::string {
        const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices);
        if (!options.replicas) return "";
        const std::string_view refusal = options.declaration().refuses.several_replicas;
        if (*options.replicas != 1 && !refusal.empty()) return std::string(refusal);
        const bool is_multiple =
            listed == nullptr || *options.replicas % static_cast<std::int64_t>(listed->size()) == 0;
        if (is_multiple || options.pipeline) return "";  // which has several devices for a replica
        return fmt::format("expected a multiple of the {} devices listed, found {}", listed->size(), *options.replicas);
      });
}

}  // namespace mirrortrain

namespace mirrortrain::config {
namespace {

bool parse_device(std::string_view text, DeviceId& device) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = text.substr(0, colon), number = text.substr(colon + 1);
  if (kind != "cpu" && kind != "cuda") return false;
  device.kind = kind == "cpu" ? DeviceId::Kind::kCpu : DeviceId::Kind::kCuda;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device.index);
  return error == std::errc() && end == number.data() + number.size() && device.index >= 0 && number[0] != '-';
}

/// The device kind meant by a name that other programs use.
std::string_view kind_meant(std::string_view name) {
  const std::string lower = in_lower_case(name);
  if (lower == "cpu") return "cpu";
  return lower == "gpu" || lower == "cuda" || lower == "/gpu" || lower == "nvidia" ? "cuda" : "";
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string Codec<DeviceId>::meant(const Value& value) {
  if (!value.is_scalar()) return "";
  const std::string text = without_odd_characters(value.text());
  // PyTorch's numbering of GPUs, where there are any.
  if (is_number(text)) return (this_machine().gpus().gpus.empty() ? "cpu:" : "cuda:") + text;
  const std::size_t colon = text.find(':');
  const std::string kind(kind_meant(text.substr(0, colon)));
  if (kind.empty()) return "";
  if (colon == std::string::npos) return kind + ":0";
  return is_number(text.substr(colon + 1)) ? kind + text.substr(colon) : "";
}

bool Codec<DeviceId>::accepts(const Value& value) {
  DeviceId device;
  return value.is_scalar() && parse_device(value.text(), device);
}

void Codec<DeviceId>::read(const Node& node, DeviceId& device) {
  if (!node.value().is_scalar() || !parse_device(node.value().text(), device))
    node.wrong("a device such as cpu:0 or cuda:1",
               meant(node.value()).empty() ? "" : fmt::format("did you mean '{}'?", meant(node.value())));
}

Value Codec<DeviceId>::show(const DeviceId& device) { return Value::scalar(device.text(), false); }

Schema Codec<DeviceId>::schema(const Rules& rules) {
  Schema schema = detail::scalar_schema(Schema::Kind::kText, rules);
  schema.pattern = "^(cpu|cuda):[0-9]+$";
  return schema;
}

}  // namespace mirrortrain::config
