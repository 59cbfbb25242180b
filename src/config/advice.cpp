// Advice on names that have no direct equivalent here, and on where the items of lists belong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

/// Advice on a name without an equivalent here. `kind` is the kind of thing that was named: "key", or a choice's kind
/// (kind_of of choice.h); for a key's value, the key.
struct Advice {
  std::string_view kind, name, text;
};
constexpr std::string_view kSchedules =
    "the learning rate follows a schedule given in its place: write optimizer: {type: adam, learning_rate: {schedule: "
    "cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}";
constexpr std::string_view kRunFolder = "a run's folder is runs/NAME: set name, or give fit --run-dir";
constexpr std::string_view kNoBatchAxis = "it is the shape of one example: leave the axis of the batch out";
constexpr std::string_view kBothDirections =
    "take two layers that read the same input, the second with go_backwards: true and, with return_sequences, a flip "
    "behind it, and a concatenate of both";
constexpr std::string_view kMaxOfSteps =
    "for STEPS of FEATURES numbers write reshape: {target_shape: [STEPS, 1, FEATURES]} and global_max_pooling2d";
constexpr std::string_view kOneCycle =
    "write {schedule: cosine_decay, initial_learning_rate: 0.001, warmup_target: 0.01, warmup_steps: 1, decay_steps: "
    "3}, "
    "which rises and falls once";
constexpr std::string_view kPoolingOfSteps =
    "for STEPS of FEATURES numbers write reshape: {target_shape: [STEPS, 1, FEATURES]}, max_pooling2d or "
    "average_pooling2d with pool_size: [2, 1], and reshape: {target_shape: [-1, FEATURES]}";
constexpr std::string_view kSizeOfInput = "a layer takes the size of its input from the layer before; leave it out";
constexpr std::string_view kShapeOfInput =
    "the shape of an example is model.input_shape, and the layers begin with what computes on it; leave it out";
constexpr std::string_view kMixed = "write mixed_bfloat16";
constexpr std::string_view kEndsOfEpochs =
    "a checkpoint is saved at the end of each epoch, and with every_steps between them too; leave it out";
constexpr std::string_view kSmoothing =
    "it belongs to categorical_crossentropy, for which data.preprocessing lists one_hot, and to binary_crossentropy";
constexpr std::string_view kStaircase =
    "write {schedule: exponential_decay, initial_learning_rate: 0.001, decay_steps: 1000, decay_rate: 0.1, staircase: "
    "true}";
constexpr std::string_view kSaved =
    "save it as a table, {format: csv, file: FILE, labels: COLUMN}, or as arrays of NumPy, {format: npz, file: FILE}";
constexpr auto kAdvice = std::to_array<Advice>({
    {"key", "clipnorm",
     "gradients.clip_norm clips the norm of all gradients together, which is Keras's global_clipnorm; there is no norm "
     "of each variable by itself"},
    {"key", "outputdir", kRunFolder},
    {"key", "logdir", kRunFolder},
    {"key", "savedir", kRunFolder},
    {"key", "rundir", kRunFolder},
    {"key", "betas", "write beta_1: 0.9, beta_2: 0.999, each a key of its own"},
    {"key", "stepsperepoch", "an epoch is all training examples once; training.steps ends the run after so many steps"},
    {"key", "lrscheduler", kSchedules},
    {"key", "lrschedule", kSchedules},
    {"key", "learningratescheduler", kSchedules},
    {"key", "scheduler", kSchedules},
    {"key", "numclasses", "the classes are the outputs: give the last layer of model.layers as many units"},
    {"key", "nclasses", "the classes are the outputs: give the last layer of model.layers as many units"},
    {"callback", "modelcheckpoint",
     "it is a section of its own: write checkpoint: {every_steps: 500}, or, with validation data, checkpoint: "
     "{save_best: {metric: loss}}"},
    {"callback", "tensorboard", "every run writes TensorBoard's files; logging.tensorboard: false leaves them out"},
    {"callback", "csvlogger", "every run writes metrics.jsonl into its folder; leave it out"},
    {"callback", "terminateonnan", "a run stops at NaN by itself: training.on_non_finite is stop; leave it out"},
    {"callback", "learningratescheduler", kSchedules},
    {"key", "augmentation", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "dataaugmentation", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "augment", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "normalize", "list rescaling or normalization in data.preprocessing"},
    {"key", "normalization", "list it in data.preprocessing"},
    {"key", "bidirectional", kBothDirections},
    {"layer", "bidirectional", kBothDirections},
    {"layer", "masking",
     "padding is what embedding: {mask_zero: true} finds among whole numbers; sequences of other numbers carry no "
     "mask"},
    {"layer", "timedistributed",
     "list the layer alone: dense, activation, dropout and layer_normalization treat each step of a sequence by "
     "itself"},
    {"layer", "repeatvector",
     "for N steps of FEATURES numbers write reshape: {target_shape: [1, 1, FEATURES]}, upsampling2d: {size: [N, 1]} "
     "and reshape: {target_shape: [N, FEATURES]}"},
    {"layer", "globalmaxpooling1d", kMaxOfSteps},
    {"layer", "globalmaxpool1d", kMaxOfSteps},
    {"layer", "maxpooling1d", kPoolingOfSteps},
    {"layer", "maxpool1d", kPoolingOfSteps},
    {"layer", "averagepooling1d", kPoolingOfSteps},
    {"layer", "avgpool1d", kPoolingOfSteps},
    {"layer", "simplernn", "take gru or lstm"},
    {"layer", "rnn", "take gru or lstm"},
    {"key", "decay", kSchedules},
    {"key", "warmup", kSchedules},
    {"key", "warmupsteps", kSchedules},
    {"key", "schedule", kSchedules},
    {"key", "infeatures", kSizeOfInput},
    {"key", "inchannels", kSizeOfInput},
    {"key", "numfeatures", kSizeOfInput},
    {"key", "normalizedshape", kSizeOfInput},
    {"key", "dataformat", "images are [height, width, channels], channels last; leave it out"},
    {"key", "negativeslope",
     "leaky_relu's slope below 0 is 0.2; leave it out, or take a prelu layer, which learns one"},
    {"key", "std", "write variance, which is its square: 0.25 for a standard deviation of 0.5"},
    {"key", "prefetch", "examples are read ahead as fast as the steps take them; leave it out"},
    {"key", "fraction", "data.validation alone takes a part of data.train; name a source, as data.train does"},
    {"key", "keepprob", "write rate, the part that is set to 0: 1 - keep_prob"},
    {"key", "labelsmoothing", kSmoothing},
    {"key", "everyepoch", kEndsOfEpochs},
    {"key", "everyepochs", kEndsOfEpochs},
    {"key", "savefreq", kEndsOfEpochs},
    {"key", "filepath", kRunFolder},
    {"key", "checkpointdir", kRunFolder},
    {"key", "verbose", "it is an option of the command line: fit -v prints more, fit -q less; leave it out"},
    {"key", "testsplit", "data.test names a source of its own, as data.train does; leave it out where there is none"},
    {"activation", "null", "write linear"},
    {"activation", "logsoftmax", "leave it out, and write from_logits: true in the loss"},
    {"devices", "auto", "write all"},
    {"devices", "null", "write all"},
    {"devices", "1", "write all"},  // -1
    {"devices", "[]", "write all"},
    {"checkpoint", "false",
     "a checkpoint is saved at the end of each epoch, and the last ones are kept; leave it out, or write checkpoint: "
     "{keep: 1}"},
    {"devices", "none", "write all"},
    {"precision", "true", kMixed},
    {"precision", "mixed", kMixed},
    {"precision", "16", kMixed},
    {"precision", "16mixed", kMixed},
    {"precision", "bf16mixed", kMixed},
    {"precision", "32", "write float32"},
    {"validation", "true", "write validation: {fraction: 0.1}"},
    {"layer", "leakyrelu", "write - activation: {activation: leaky_relu}, whose slope below 0 is 0.2"},
    {"layer", "input", kShapeOfInput},
    {"layer", "inputlayer", kShapeOfInput},
    {"layer", "totensor", "files of pictures are read as numbers from 0 to 255; list rescaling in data.preprocessing"},
    {"data source", "parquet", kSaved},
    {"data source", "excel", kSaved},
    {"data source", "hdf5", kSaved},
    {"data source", "json", kSaved},
    {"data source", "pickle", kSaved},
    {"data source", "cifar10", kSaved},
    {"schedule", "onecycle", kOneCycle},
    {"schedule", "onecyclelr", kOneCycle},
    {"schedule", "steplr", kStaircase},
    {"schedule", "stepdecay", kStaircase},
    {"schedule", "step", kStaircase},
    {"metric", "loss", "every run reports its loss; leave it out"},
    {"metric", "valloss", "every run with data.validation reports its loss there; leave it out"},
    {"metric", "confusionmatrix", "eval and report.html show it of every model that predicts classes; leave it out"},
    {"optimizer", "nag", "write {type: sgd, momentum: 0.9, nesterov: true}"},
    {"optimizer", "amsgrad", "write {type: adam, amsgrad: true}"},
    {"optimizer", "momentum", "write {type: sgd, momentum: 0.9}"},
    {"optimizer", "nesterov", "write {type: sgd, momentum: 0.9, nesterov: true}"},
    {"input_shape", "null", kNoBatchAxis},
    {"input_shape", "none", kNoBatchAxis},
    {"input_shape", "1", kNoBatchAxis},  // -1
    {"padding", "0", "write valid, which is no padding"},
    {"padding", "1", "write same, which is what a kernel of 3 needs to keep the size"},
    {"padding", "2", "write same, which is what a kernel of 5 needs to keep the size"},
    {"padding", "3", "write same, which is what a kernel of 7 needs to keep the size"},
    {"loss", "rmse", "take mean_squared_error, whose root has its minimum at the same place"},
    {"loss", "rootmeansquarederror", "take mean_squared_error, whose root has its minimum at the same place"},
    {"metric", "rmse", "take mean_squared_error, whose root it is"},
    {"metric", "rootmeansquarederror", "take mean_squared_error, whose root it is"},
});

/// Finds the first list ("callbacks") whose choice has the alternative `name`, or a callback with that key.
struct Item {
  std::string list, alternative;
  bool is_key = false;
};
void find_items(const Schema& section, const std::string& path, const std::string& name, std::optional<Item>& found) {
  for (const Schema::Key& key : section.keys) {
    if (found) return;
    const std::string here = path.empty() ? key.name : path + "." + key.name;
    std::vector<const Schema*> sections;
    add_sections(key.type, sections);
    for (const Schema* inner : sections) {
      if (path.empty()) find_items(*inner, here, name, found);
    }
    if (key.type.kind != Schema::Kind::kList || key.type.parts[0].kind != Schema::Kind::kChoice) continue;
    for (const Schema& part : key.type.parts[0].parts) {
      if (found || part.name.empty()) continue;
      const bool has_key = std::ranges::any_of(part.keys, [&](const Schema::Key& k) { return plain(k.name) == name; });
      if (plain(part.name) == name || named_otherwise(name, {part.name}) != nullptr)
        found = Item{here, part.name, false};
      // Many layers have the same keys.
      if (has_key && here == "callbacks") found = Item{here, part.name, true};
    }
  }
}

}  // namespace

std::string without_odd_characters(std::string_view text) {
  std::string plain_text;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    const bool is_quote = code >= 0x2018 && code <= 0x201F;
    const bool is_space = code == 0xA0 || code == 0x2007 || code == 0x202F || code == 0x3000;
    if (!is_quote && !is_space && (code < 0x80 || is_visible(code))) plain_text += text.substr(at, length);
    at += length;
  }
  return plain_text;
}

std::string advice_on(std::string_view kind, std::string_view name) {
  if (kind == "layer") {  // keras.layers.RepeatVector(3)
    name = name.substr(0, name.find('('));
    name = name.substr(name.rfind('.') + 1);
  }
  const std::string wanted = plain(name);
  const auto found =
      std::ranges::find_if(kAdvice, [&](const Advice& one) { return one.kind == kind && one.name == wanted; });
  return found != kAdvice.end() ? fmt::format("; {}", found->text) : "";
}

std::string item_elsewhere(std::string_view name, const Schema& root) {
  std::optional<Item> item;
  find_items(root, "", plain(name), item);
  if (!item) return "";
  return item->is_key ? fmt::format("; it belongs to an item of {}: - {}: {{{}: ...}}", item->list, item->alternative,
                                    shortened(name))
                      : fmt::format("; it belongs in the list {}: - {}", item->list, item->alternative);
}

}  // namespace mirrortrain::config
