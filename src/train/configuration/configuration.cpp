#include "train/configuration/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/open_file.h"
#include "base/utf8.h"
#include "keras/reading/keras_file.h"
#include "model/blocks.h"

namespace mirrortrain {
namespace {

/// A run without a model only updates its `state`.
const auto kUnlessStateAlone = config::required_unless("state", {"model", "loss", "optimizer", "metrics", "variables"});

/// What `logging` asks for and this configuration cannot have; empty if nothing.
std::string why_not_logged(const Configuration& values) {
  const LoggingOptions& logging = values.logging;
  const std::pair<bool, const char*> asked[] = {{logging.csv, "csv"},
                                                {logging.histograms.has_value(), "histograms"},
                                                {logging.gradient_histograms.has_value(), "gradient_histograms"},
                                                {logging.gradient_norms, "gradient_norms"},
                                                {logging.images > 0, "images"}};
  for (const auto& [is_asked, key] : asked) {
    if (is_asked && !values.model) return fmt::format("without a model there is nothing to log; leave out {}", key);
  }
  if (!logging.reads_gradients()) return "";
  return fmt::format(fmt::runtime(values.strategy.declaration().refuses.gradient_logging),
                     logging.gradient_norms ? "gradient_norms" : "gradient_histograms");
}

}  // namespace

config::Section<TrainingOptions> TrainingOptions::section() {
  return config::Section<TrainingOptions>("Length and precision of the training.")
      .advice("steps_per_epoch",
              "an epoch is all training examples once; training.steps ends the run after so many steps")
      .advice("initial_epoch", "fit --resume resumes from the last checkpoint of the run; leave it out")
      .advice("run_eagerly, jit_compile, steps_per_execution",
              "each step is one compiled program, and steps are enqueued together where that is faster; leave it out")
      .key("epochs", &TrainingOptions::epochs,
           "Number of passes over the training data; null: 1, or no limit if `steps` is given.",
           config::between(1, 1'000'000'000),
           config::aliases("num_train_epochs, num_epochs, n_epochs, n_epoch, epoch, max_epochs"))
      .key("steps", &TrainingOptions::steps,
           "Number of steps (global batches) after which training ends; null: no limit.", config::at_least(1),
           config::aliases("num_steps, max_steps, total_steps, iterations, max_iter"))
      .key(
          "time_limit", &TrainingOptions::time_limit,
          "Time after which the run stops with a checkpoint and exit code 0, as `90s`, `30m`, `2h` or `1h30m`, counted "
          "from the start of the command, with all that comes before the first step; it makes a step at least. fit "
          "--resume resumes it, with the whole time again; null: no limit.",
          config::aliases("max_time, max_duration, time_budget"))
      .key("precision", &TrainingOptions::precision,
           "Data type in which the layers compute; variables, loss and metrics are always float32.",
           config::aliases("mixed_precision, fp16, amp"))
      .key("tf32", &TrainingOptions::tf32,
           "Whether GPUs use TensorFloat-32 for float32 matrix multiplications and convolutions: faster on tensor "
           "cores, with inputs rounded to 10 bits of mantissa.")
      .key("cuda_graph", &TrainingOptions::cuda_graph,
           "Whether each GPU's step is captured as a CUDA graph and launched as a whole, which saves the host most of "
           "its work.")
      .key("autotune", &TrainingOptions::autotune,
           "Whether GPUs benchmark several algorithms for each matrix multiplication and convolution before the first "
           "step and use the fastest.")
      .key("deterministic", &TrainingOptions::deterministic,
           "Whether GPUs use only algorithms that give the same bits each time; false allows others in training, which "
           "may be faster and add in no fixed order.",
           config::aliases("use_deterministic_algorithms, enable_op_determinism"))
      .key(
          "on_non_finite", &TrainingOptions::on_non_finite,
          "What to do when the loss, in training, validation or test, or a variable is NaN or infinite: stop ends the "
          "run with exit code 3 and saves nothing of it, so that the last checkpoint is the one to go back to; skip "
          "leaves out steps whose loss or gradients are not finite, which then change nothing, and stops after 20 in a "
          "row, or where validation or test are not finite; ignore continues.")
      .key(
          "check_replicas_every_steps", &TrainingOptions::check_replicas_every_steps,
          "Number of steps between two comparisons of the variables of several GPUs or workers, which a damaged memory "
          "makes differ; before each checkpoint they are compared too. null: never.",
          config::at_least(1))
      .key("stall_timeout_seconds", &TrainingOptions::stall_timeout_seconds,
           "Seconds that reading an example from its file may take before the run ends with exit code 1, as it would "
           "wait indefinitely for a disk or a network that hangs; 0: no limit.",
           config::at_least(0));
}

config::Section<CheckpointOptions> CheckpointOptions::section() {
  return config::Section<CheckpointOptions>("When to save checkpoints, and how many to keep.")
      .advice("every_epoch, every_epochs, save_freq",
              "a checkpoint is saved at the end of each epoch, and with every_steps between them too; leave it out")
      .key("every_steps", &CheckpointOptions::every_steps,
           "Number of steps between checkpoints; null: only at the end of each epoch.", config::at_least(1),
           config::aliases("save_every, save_steps"))
      .key("keep", &CheckpointOptions::keep, "Number of most recent checkpoints to keep.", config::at_least(1))
      .key("save_best", &CheckpointOptions::save_best,
           "Keeps the checkpoint of the epoch with the best metric as checkpoints/best, in addition to the most recent "
           "ones; null: none.",
           config::aliases("save_best_only"));
}

config::Section<Configuration> Configuration::section() {
  return config::Section<Configuration>("Configuration of a training run.")
      .advice("output_dir, log_dir, save_dir, run_dir, checkpoint_dir, filepath",
              "a run's folder is runs/NAME: set name, or give fit --run-dir")
      .advice("class_weight, class_weights",
              "it is an option of a loss of classes: loss: {type: sparse_categorical_crossentropy, class_weight: {0: "
              "1, 1: 5}}, or of one output's, loss: {OUTPUT: {type: ..., class_weight: ...}}")
      .advice("gradient_clip_val, gradient_clip_algorithm",
              "write gradients: {clip_norm: 1.0}, the norm of all gradients together, or {clip_value: 0.5}")
      .advice("weighted_metrics",
              "list them in metrics, which leave out examples without a label (missing: ignore) and weigh all others "
              "alike")
      .key("name", &Configuration::name,
           "Name of the run and of its folder; default: the file's name without its extension.")
      .key("extends", &Configuration::extends,
           "A configuration file that this one extends, relative to this one: its keys hold where this file has none "
           "of its own. Lists, and sections of another type, are taken as a whole. The resolved configuration has them "
           "all.")
      .key("seed", &Configuration::seed, "Random seed of the initial weights, shuffling and dropout.",
           config::aliases("random_seed, manual_seed"))
      .key("data", &Configuration::data, "The data sets, and how they are batched and preprocessed.", config::required,
           config::aliases("dataset, datasets"))
      .key("model", &Configuration::model,
           "The model; `model`, `loss` and `optimizer` may be left out together if `state` is given.",
           kUnlessStateAlone, config::aliases("network, net, architecture"))
      .key("loss", &Configuration::loss, "The loss to minimize.", kUnlessStateAlone, config::by("output"),
           config::aliases("criterion, loss_function, loss_fn, objective"))
      .key("metrics", &Configuration::metrics, "Metrics to evaluate in training, validation and testing.",
           config::by("output"))
      .key("optimizer", &Configuration::optimizer,
           "The optimizer, or a list of several, each for some of the variables: the first whose `match` fits counts.",
           kUnlessStateAlone, config::non_empty, config::aliases("optim, solver"))
      .key("strategy", &Configuration::strategy, "How training is distributed over devices.",
           config::aliases("distribution"))
      .key("variables", &Configuration::variables,
           "How the replicas' copies of the model's variables are synchronized and aggregated.")
      .key("state", &Configuration::state, "User-defined variables, updated by every replica in every training step.")
      .key("gradients", &Configuration::gradients,
           "How gradients are aggregated, clipped and accumulated before the optimizer applies them.")
      .key("training", &Configuration::training, "Length and precision of the training.")
      .key("termination", &Configuration::termination,
           "What happens when the machine is about to be taken away, which SIGTERM or a command says.",
           config::aliases("preemption, termination_config"))
      .key("callbacks", &Configuration::callbacks,
           "What to do at the end of an epoch, by a metric: end the training, or reduce the learning rate.")
      .key("checkpoint", &Configuration::checkpoint, "When to save checkpoints, and how many to keep.",
           config::advice("false",
                          "a checkpoint is saved at the end of each epoch, and the last ones are kept; leave it out, "
                          "or write checkpoint: {keep: 1}"))
      .key("logging", &Configuration::logging, "What is logged during training.")
      .key("search", &Configuration::search,
           "The search of `mirrortrain tune` for good values of other keys; null: none. Every other command takes the "
           "file's own values.",
           config::aliases("hyperopt, tuning"))
      .check("gradients",
             [](const Configuration& values) -> std::string {
               const auto text = [](const GradientOptions& options) {
                 return config::to_yaml(config::Codec<GradientOptions>::show(options));
               };
               return values.model || text(values.gradients) == text({})
                          ? ""
                          : "without a model there are no gradients; remove this section";
             })
      .check("gradients",
             [](const Configuration& values) -> std::string {
               const bool accumulates = values.gradients.accumulate_steps > 1;
               return std::string(accumulates ? values.strategy.declaration().refuses.accumulation : "");
             })
      .check("logging", why_not_logged)
      .check("data",
             [](const Configuration& values) -> std::string {
               const data::AutoShard shard = values.data.auto_shard;
               if (shard == data::AutoShard::kAuto || shard == data::AutoShard::kData) return "";
               return fmt::format(fmt::runtime(values.strategy.declaration().refuses.auto_shard),
                                  config::name_of(shard));
             })
      .check("training",
             [](const Configuration& values) -> std::string {
               const bool skips = values.training.on_non_finite == OnNonFinite::kSkip;
               return std::string(skips ? values.strategy.declaration().refuses.skipped_non_finite : "");
             })
      .check("strategy", [](const Configuration& values) -> std::string {
        return std::string(values.model ? "" : values.strategy.declaration().refuses.no_model);
      });
}

namespace {

/// What a file with another extension than a configuration's is; "" where nothing is known of it.
std::string other_file(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  constexpr auto kData = std::to_array<std::string_view>(
      {".csv", ".parquet", ".npy", ".npz", ".gz", ".zst", ".tar", ".tfrecord", ".txt", ".png", ".jpg", ".webp"});
  if (ending == ".safetensors") {
    return "these are weights, not a configuration; name the run that they are of, or give them as "
           "model.initial_weights";
  }
  if (keras::is_keras_file(file)) {
    return fmt::format("this is a model of Keras's, not a configuration; `mirrortrain init {}` writes one for it",
                       file);
  }
  if (std::ranges::count(kData, ending) == 0) return "";
  return fmt::format("these are data, not a configuration; `mirrortrain init {}` writes one for them", file);
}

/// A split of archives that names no inputs, or no labels, takes those that the training data name one by one.
void inherit_arrays(const data::Npz& train, data::Npz& split) {
  if (!split.features && split.inputs.empty()) split.inputs = train.inputs;
  if (!train.labels.one && split.labels.one == data::Npz().labels.one) split.labels = train.labels;
}

void inherit_arrays(data::DataOptions& options) {
  const auto* const train = std::get_if<data::Npz>(&options.train.value);
  if (train == nullptr) return;
  const auto inherit = [&](auto& split) {
    if (auto* const archive = split ? std::get_if<data::Npz>(&*split) : nullptr) inherit_arrays(*train, *archive);
  };
  inherit(options.validation.value);
  inherit(options.test.value);
}

}  // namespace

Configuration::Configuration() = default;
Configuration::Configuration(const Configuration&) = default;
Configuration::Configuration(Configuration&&) noexcept = default;
Configuration& Configuration::operator=(const Configuration&) = default;
Configuration& Configuration::operator=(Configuration&&) noexcept = default;
Configuration::~Configuration() = default;

ReadConfiguration read_configuration(const std::string& file, std::span<const std::string> overrides,
                                     config::Errors& errors) {
  ReadConfiguration read{config::load(file, overrides, errors, other_file), {}};
  expand_blocks(read.document.root, errors);
  read.values = config::read<Configuration>(read.document, errors);
  inherit_arrays(read.values.data);
  // Whether or not this command reads them, none of its outputs may replace them.
  for (const config::NamedFile& named : read.document.files) note_read(named.file);
  if (read.values.name.text.empty()) {
    read.values.name.text = config::is_piped(file) ? "stdin" : std::filesystem::path(file).stem().string();
  }
  // A run keeps name and paths in its config.yaml.
  if (const auto why = why_not_text(read.values.name.text); !why.empty()) {
    errors.add({}, "name",
               fmt::format("{} {}, and a run is called after its configuration's file unless that has a name: add one, "
                           "or rename the file",
                           shortened(file, 200), why));
  }
  if (read.values.name.text.find_first_of("\n\t") != std::string::npos) {
    errors.add({}, "name", "holds a line break or a tab, which tables of runs cannot show; write it on one line");
  }
  for (const config::NamedFile& named : read.document.files) {
    const auto why = why_not_text(named.file);
    if (why.empty()) continue;
    errors.add(named.place, named.path,
               fmt::format("{} {}, so that the config.yaml of a run cannot name it; rename the folder or file",
                           shortened(named.file, 200), why));
  }
  return read;
}

}  // namespace mirrortrain

void mirrortrain::config::Codec<mirrortrain::RunName>::read(const Node& node, RunName& name) {
  Codec<std::string>::read(node, name.text);
  if (name.text.find('/') != std::string::npos) node.error("a name has no '/'; use --run-dir for a folder elsewhere");
  constexpr std::size_t kMost = 240;  // of the 255 bytes of a file's name, some for -2, -3, ...
  if (name.text.size() > kMost) {
    node.error(
        fmt::format("expected at most {} bytes, found {}: it is the run folder's name", kMost, name.text.size()));
  }
  if (name.text == "." || name.text == "..") node.error("expected a folder's name, found '" + name.text + "'");
}
