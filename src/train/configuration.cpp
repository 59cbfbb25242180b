#include "train/configuration.h"

#include <filesystem>

namespace mirrortrain {
namespace {

/// A run without a model just writes its `state`.
const auto kUnlessStateAlone = config::required_unless("state", {"model", "loss", "optimizer", "metrics", "variables"});

}  // namespace

config::Section<TrainingOptions> TrainingOptions::section() {
  return config::Section<TrainingOptions>("How long and how precisely to train.")
      .key("epochs", &TrainingOptions::epochs,
           "Passes over the training set; null: 1, or no limit where steps is given.", config::at_least(1))
      .key("steps", &TrainingOptions::steps, "Global batches after which the run ends; null: no limit.",
           config::at_least(1))
      .key("precision", &TrainingOptions::precision,
           "What the layers compute in; variables, loss and metrics are float32 in both.")
      .key(
          "tf32", &TrainingOptions::tf32,
          "Whether GPUs round the inputs of float32 products and convolutions to 10 bits of mantissa, for their tensor "
          "cores.")
      .key("cuda_graph", &TrainingOptions::cuda_graph,
           "Whether a GPU's step is captured and then enqueued as a whole, which spares the host most of its work.")
      .key(
          "autotune", &TrainingOptions::autotune,
          "Whether GPUs measure several algorithms for each product and convolution before the first step and take the "
          "fastest.");
}

config::Section<CheckpointOptions> CheckpointOptions::section() {
  return config::Section<CheckpointOptions>("When to save what is needed to go on.")
      .key("every_steps", &CheckpointOptions::every_steps,
           "Save every so many steps; null: at the end of each epoch alone.", config::at_least(1))
      .key("keep", &CheckpointOptions::keep, "How many of the newest checkpoints stay.", config::at_least(1))
      .planned("save_best");
}

config::Section<LoggingOptions> LoggingOptions::section() {
  return config::Section<LoggingOptions>("What a run tells while it trains.")
      .key("every_steps", &LoggingOptions::every_steps, "Steps between two step events.", config::at_least(1))
      .key("tensorboard", &LoggingOptions::tensorboard, "Whether to write scalars for TensorBoard.");
}

config::Section<Configuration> Configuration::section() {
  return config::Section<Configuration>("A training run.")
      .key("name", &Configuration::name, "The run folder's name; default: the file's stem.")
      .key("seed", &Configuration::seed, "Fixes initial weights, shuffling and dropout.")
      .key("data", &Configuration::data, "The examples.", config::required)
      .key("model", &Configuration::model,
           "The network; it, `loss` and `optimizer` may be left out where `state` is given.", kUnlessStateAlone)
      .key("loss", &Configuration::loss, "What training makes small.", kUnlessStateAlone)
      .key("metrics", &Configuration::metrics, "What is measured beside the loss.")
      .key("optimizer", &Configuration::optimizer, "How weights follow their gradients.", kUnlessStateAlone)
      .key("strategy", &Configuration::strategy, "How training is spread over devices.")
      .key("variables", &Configuration::variables,
           "How the copies of the model's variables are kept and brought together.")
      .key("state", &Configuration::state, "Variables of one's own, written in every training step by every replica.")
      .key("gradients", &Configuration::gradients, "What happens to gradients on their way to the optimizer.")
      .key("training", &Configuration::training, "How long and how precisely to train.")
      .key("checkpoint", &Configuration::checkpoint, "When to save what is needed to go on.")
      .key("logging", &Configuration::logging, "What a run tells while it trains.")
      .check("gradients", [](const Configuration& values) -> std::string {
        const auto text = [](const GradientOptions& options) {
          return config::to_yaml(config::Codec<GradientOptions>::show(options));
        };
        return values.model || text(values.gradients) == text({})
                   ? ""
                   : "there is no model whose gradients this could concern; leave it out";
      });
}

ReadConfiguration read_configuration(const std::string& file, std::span<const std::string> overrides,
                                     config::Errors& errors) {
  ReadConfiguration read{config::load(file, overrides, errors), {}};
  read.values = config::read<Configuration>(read.document, errors);
  if (read.values.name.text.empty()) read.values.name.text = std::filesystem::path(file).stem().string();
  return read;
}

}  // namespace mirrortrain

void mirrortrain::config::Codec<mirrortrain::RunName>::read(const Node& node, RunName& name) {
  Codec<std::string>::read(node, name.text);
  if (name.text.find('/') != std::string::npos) node.error("a name has no '/'; use --run-dir for a folder elsewhere");
  if (name.text == "." || name.text == "..") node.error("expected a folder's name, found '" + name.text + "'");
}
