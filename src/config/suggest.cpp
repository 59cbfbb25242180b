// What a name that is not known was probably meant to be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/names.h"
#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

/// Names from Keras, PyTorch and everyday speech, in the form of plain(), and what they are called here: the first that
/// is a name where the mistake was made is suggested.
constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"lr", "learning_rate"},
    {"alpha", "rho"},  // PyTorch's RMSprop
    {"alpha", "learning_rate"},
    {"eta", "learning_rate"},
    {"stepsize", "learning_rate"},
    {"initiallearningrate", "learning_rate"},
    {"batchsize", "global_batch_size"},
    {"batch", "global_batch_size"},
    {"bs", "global_batch_size"},
    {"minibatchsize", "global_batch_size"},
    {"globalbatch", "global_batch_size"},
    {"trainbatchsize", "global_batch_size"},
    {"perdevicetrainbatchsize", "global_batch_size"},
    {"numtrainepochs", "epochs"},
    {"numepochs", "epochs"},
    {"nepochs", "epochs"},
    {"nepoch", "epochs"},
    {"epoch", "epochs"},
    {"maxepochs", "epochs"},
    {"numsteps", "steps"},
    {"maxsteps", "steps"},
    {"totalsteps", "steps"},
    {"iterations", "steps"},
    {"maxiter", "steps"},
    {"mse", "mean_squared_error"},
    {"mseloss", "mean_squared_error"},
    {"l2loss", "mean_squared_error"},
    {"mae", "mean_absolute_error"},
    {"l1loss", "mean_absolute_error"},
    {"l1", "mean_absolute_error"},
    {"smoothl1", "huber"},
    {"smoothl1loss", "huber"},
    {"huberloss", "huber"},
    {"bce", "binary_crossentropy"},
    {"bceloss", "binary_crossentropy"},
    {"bcewithlogitsloss", "binary_crossentropy"},
    {"logloss", "binary_crossentropy"},
    {"binarycrossentropyloss", "binary_crossentropy"},
    {"crossentropy", "sparse_categorical_crossentropy"},
    {"crossentropyloss", "sparse_categorical_crossentropy"},
    {"ce", "sparse_categorical_crossentropy"},
    {"nll", "sparse_categorical_crossentropy"},
    {"nllloss", "sparse_categorical_crossentropy"},
    {"kldivloss", "kl_divergence"},
    {"kld", "kl_divergence"},
    {"acc", "accuracy"},
    {"binaryaccuracy", "accuracy"},
    {"categoricalaccuracy", "accuracy"},
    {"sparsecategoricalaccuracy", "accuracy"},
    {"valaccuracy", "accuracy"},
    {"iou", "mean_iou"},
    {"rocauc", "auc"},
    {"auroc", "auc"},
    {"top5", "top_k_accuracy"},
    {"topk", "top_k_accuracy"},
    {"top5accuracy", "top_k_accuracy"},
    {"sparsetopkcategoricalaccuracy", "top_k_accuracy"},
    {"topkcategoricalaccuracy", "top_k_accuracy"},
    {"f1", "f1_score"},
    {"r2", "r2_score"},
    {"linear", "dense"},
    {"fc", "dense"},
    {"fullyconnected", "dense"},
    {"conv", "conv2d"},
    {"convolution2d", "conv2d"},
    {"maxpool", "max_pooling2d"},
    {"maxpool2d", "max_pooling2d"},
    {"avgpool2d", "average_pooling2d"},
    {"averagepool2d", "average_pooling2d"},
    {"adaptiveavgpool2d", "global_average_pooling2d"},
    {"globalavgpool2d", "global_average_pooling2d"},
    {"globalaveragepool2d", "global_average_pooling2d"},
    {"gap", "global_average_pooling2d"},
    {"batchnorm", "batch_normalization"},
    {"batchnorm1d", "batch_normalization"},
    {"batchnorm2d", "batch_normalization"},
    {"bn", "batch_normalization"},
    {"layernorm", "layer_normalization"},
    {"groupnorm", "group_normalization"},
    {"convtranspose2d", "conv2d_transpose"},
    {"upsample", "upsampling2d"},
    {"multiheadattention", "multi_head_attention"},
    {"view", "reshape"},
    {"dropout2d", "dropout"},
    {"outfeatures", "units"},
    {"neurons", "units"},
    {"nodes", "units"},
    {"size", "units"},
    {"hiddensize", "units"},
    {"outchannels", "filters"},
    {"channels", "filters"},
    {"kernel", "kernel_size"},
    {"filtersize", "kernel_size"},
    {"stride", "strides"},
    {"pool", "pool_size"},
    {"kernelsize", "pool_size"},
    {"dilation", "dilation_rate"},
    {"bias", "use_bias"},
    {"act", "activation"},
    {"nonlinearity", "activation"},
    {"weightinit", "kernel_initializer"},
    {"initializer", "kernel_initializer"},
    {"kernelinitializer", "depthwise_initializer"},
    {"kernelregularizer", "depthwise_regularizer"},
    {"kernelconstraint", "depthwise_constraint"},
    {"p", "rate"},
    {"prob", "rate"},
    {"probability", "rate"},
    {"dropoutrate", "rate"},
    {"eps", "epsilon"},
    {"beta1", "beta_1"},
    {"beta2", "beta_2"},
    {"l2", "weight_decay"},
    {"l2", "mean_squared_error"},
    {"swish", "silu"},
    {"logistic", "sigmoid"},
    {"none", "linear"},
    {"identity", "linear"},
    {"hardswish", "hard_silu"},
    {"xavier", "glorot_uniform"},
    {"xavieruniform", "glorot_uniform"},
    {"xaviernormal", "glorot_normal"},
    {"kaiminguniform", "he_uniform"},
    {"kaimingnormal", "he_normal"},
    {"he", "he_normal"},
    {"glorot", "glorot_uniform"},
    {"normal", "random_normal"},
    {"uniform", "random_uniform"},
    {"zero", "zeros"},
    {"one", "ones"},
    {"criterion", "loss"},
    {"lossfunction", "loss"},
    {"lossfn", "loss"},
    {"objective", "loss"},
    {"optim", "optimizer"},
    {"solver", "optimizer"},
    {"network", "model"},
    {"net", "model"},
    {"architecture", "model"},
    {"dataset", "data"},
    {"datasets", "data"},
    {"randomseed", "seed"},
    {"val", "validation"},
    {"valid", "validation"},
    {"validationdata", "validation"},
    {"validationsplit", "validation"},
    {"dev", "validation"},
    {"training", "train"},
    {"trainingdata", "train"},
    {"testing", "test"},
    {"transforms", "preprocessing"},
    {"inputsize", "input_shape"},
    {"inputdim", "input_shape"},
    {"x", "features"},
    {"inputs", "features"},
    {"y", "labels"},
    {"target", "labels"},
    {"targets", "labels"},
    {"label", "labels"},
    {"path", "file"},
    {"filename", "file"},
    {"csv", "file"},
    {"sep", "delimiter"},
    {"separator", "delimiter"},
    {"gpu", "devices"},
    {"gpus", "devices"},
    {"device", "devices"},
    {"distribution", "strategy"},
    {"dataparallel", "mirrored"},
    {"ddp", "mirrored"},
    {"multiworker", "multi_worker_mirrored"},
    {"numworkers", "threads"},
    {"fp32", "float32"},
    {"fp16", "mixed_bfloat16"},
    {"float16", "mixed_bfloat16"},
    {"mixedfloat16", "mixed_bfloat16"},
    {"mixedprecision", "precision"},
    {"fp16", "precision"},
    {"amp", "precision"},
    {"bf16", "mixed_bfloat16"},
    {"bfloat16", "mixed_bfloat16"},
    {"amp", "mixed_bfloat16"},
    {"gradclip", "clip_norm"},
    {"clip", "clip_norm"},
    {"gradientclipping", "clip_norm"},
    {"clipnorm", "clip_norm"},
    {"globalclipnorm", "clip_norm"},
    {"clipvalue", "clip_value"},
    {"gradientaccumulation", "accumulate_steps"},
    {"gradientaccumulationsteps", "accumulate_steps"},
    {"accumulategradbatches", "accumulate_steps"},
    {"saveevery", "every_steps"},
    {"logevery", "every_steps"},
    {"logging", "logging"},
    {"cosine", "cosine_decay"},
    {"cosineannealinglr", "cosine_decay"},
    {"exponentiallr", "exponential_decay"},
    {"multisteplr", "piecewise_constant"},
    {"earlystop", "early_stopping"},
    {"reducelronplateau", "reduce_on_plateau"},
    {"monitor", "metric"},
    {"minlr", "min_learning_rate"},
    {"restorebestweights", "restore_best"},
    {"savebestonly", "save_best"},
    {"normalize", "normalization"},
    {"scale", "rescaling"},
    {"rescale", "rescaling"},
    {"imagefolder", "image_folder"},
    {"mnist", "idx"},
    {"train", "fit"},
    {"evaluate", "eval"},
    {"test", "eval"},
    {"validate", "eval"},
    {"inference", "predict"},
    {"droplast", "drop_remainder"},
    {"manualseed", "seed"},
    {"numgpus", "devices"},
    {"ngpus", "devices"},
    {"valsplit", "validation"},
    {"accumulationsteps", "accumulate_steps"},
    {"maxnorm", "clip_norm"},
    {"maxgradnorm", "clip_norm"},
    {"mirroredstrategy", "mirrored"},
    {"multiworkermirroredstrategy", "multi_worker_mirrored"},
    {"parameterserverstrategy", "parameter_server"},
    {"onedevicestrategy", "one_device"},
    {"concat", "concatenate"},
    {"cat", "concatenate"},
    {"zeropad2d", "zero_padding2d"},
    {"numgroups", "groups"},
    {"numembeddings", "input_dim"},
    {"embeddingdim", "output_dim"},
    {"numunits", "units"},
    {"shape", "target_shape"},
    {"mode", "interpolation"},
});

/// The one of `names` that another library, or everyday speech, calls `name`; null where there is none.
const std::string* named_otherwise(std::string_view name, const std::vector<std::string>& names) {
  const std::size_t dot = name.rfind('.');  // torch.optim.Adam
  if (dot != std::string_view::npos && dot + 1 < name.size()) return named_otherwise(name.substr(dot + 1), names);
  const std::string wanted = plain(name);
  if (wanted.empty()) return nullptr;
  const auto same = std::ranges::find_if(names, [&](const std::string& other) { return plain(other) == wanted; });
  if (same != names.end()) return &*same;
  for (const auto& [other, ours] : kOtherNames) {
    if (other != wanted) continue;
    const auto found = std::ranges::find(names, ours);
    if (found != names.end()) return &*found;
  }
  return nullptr;
}

// Levenshtein's distance, by rows.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : without_odd_characters(name)) {
    if (c == '_' || c == '-' || c == ' ' || c == '.') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

void add_sections(const Schema& type, std::vector<const Schema*>& sections) {
  if (type.kind == Schema::Kind::kSection) sections.push_back(&type);
  const bool tagged = type.kind == Schema::Kind::kChoice && !type.tag.empty();
  if (type.kind != Schema::Kind::kEither && !tagged) return;
  for (const Schema& part : type.parts) add_sections(part, sections);
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names) {
  if (const std::string* known = named_otherwise(name, names)) return *known;
  constexpr std::size_t kMostEdits = 2;
  std::size_t least = kMostEdits + 1;
  const std::string* nearest = nullptr;
  for (const std::string& other : names) {
    const std::size_t longer = std::max(name.size(), other.size()), shorter = std::min(name.size(), other.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edits(name, other);
    // Two edits of a short name make any other of it.
    if (distance < least && distance < longer) least = distance, nearest = &other;
  }
  return nearest != nullptr ? std::optional(*nearest) : std::nullopt;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(name, names);
  return nearest ? fmt::format("; did you mean '{}'?", shortened(*nearest)) : "";
}

std::optional<std::string> key_elsewhere(std::string_view name, const Schema& root) {
  std::vector<std::string> paths, last;  // of the keys of the root's sections
  for (const Schema::Key& key : root.keys) {
    std::vector<const Schema*> sections;
    if (!key.planned) add_sections(key.type, sections);
    for (const Schema* section : sections) {
      for (const Schema::Key& inner : section->keys) {
        if (inner.planned) continue;
        paths.push_back(key.name + "." + inner.name);
        last.push_back(inner.name);
      }
    }
  }
  const std::string* found = named_otherwise(name, last);
  if (found != nullptr) return paths[static_cast<std::size_t>(found - last.data())];
  std::vector<std::string> tops;
  for (const Schema::Key& key : root.keys) tops.push_back(key.name);
  found = named_otherwise(name, tops);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace mirrortrain::config
