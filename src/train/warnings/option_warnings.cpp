#include "train/warnings/option_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/axes.h"
#include "config/scalar.h"
#include "data/sources/abilities.h"
#include "model/wiring.h"
#include "train/warnings/layer_warnings.h"

namespace mirrortrain {
namespace {

/// `path_of_it`: the optimizer's.
void warn_of_optimizer(const CheckedConfiguration& checked, const Optimizer& optimizer, const std::string& path_of_it,
                       config::Errors& errors) {
  const auto warn = [&](const std::string& path, const std::string& message) {
    if (!errors.concern("optimizer")) errors.warn(checked.place_of(path), path, message);
  };
  if (const auto* const sgd = std::get_if<optimizers::Sgd>(&optimizer); sgd && sgd->nesterov && sgd->momentum == 0) {
    warn(path_of_it + ".nesterov", "changes nothing while momentum is 0; set a momentum, such as 0.9");
  }
  if (const auto* const rate = std::get_if<double>(&learning_rate_of(optimizer)); rate && *rate == 0) {
    warn(path_of_it + ".learning_rate", "is 0, so no weight ever changes; set one, such as 0.001");
  }
}

bool has_vocabulary(const data::DataOptions& data) {
  const auto* const text = std::get_if<data::Text>(&data.train.value);
  return text != nullptr && text->vocabulary.has_value();
}

/// Whether a layer reverses the first axis of an example.
bool flips_steps(const Layer& layer, std::size_t rank) {
  const auto* const flip = config::get_if<layers::Flip>(&layer);
  return flip != nullptr && axis_of_example(flip->axis, rank) == 0;
}

/// For a model that predicts each position of a text from those before it.
void warn_of_seen_future(const config::Located<Layer>& layer, const Shape& output, config::Errors& errors) {
  const bool attends_to_all = config::visit(
      [](const auto& options) {
        if constexpr (requires { options.use_causal_mask; }) return !options.use_causal_mask;
        return false;
      },
      layer.value);
  if (attends_to_all) {
    errors.warn(layer.place, layer.path,
                "sees the text after each place, which the model is to predict there; set use_causal_mask: true");
  }
  if (goes_backwards(layer.value)) {
    errors.warn(layer.place, layer.path,
                "goes backwards, and so sees the text after each place, which the model is to predict there; leave "
                "go_backwards out");
  }
  if (config::holds_alternative<layers::Bidirectional>(layer.value)) {
    errors.warn(layer.place, layer.path,
                "sees the text after each place, which the model is to predict there; use the layer inside alone");
  }
  if (flips_steps(layer.value, output.rank())) {
    errors.warn(layer.place, layer.path,
                "reverses the steps, and so shows the text after each place, which the model is to predict there; "
                "leave it out");
  }
}

void warn_of_layers(const CheckedConfiguration& checked, config::Errors& errors) {
  const Configuration& values = checked.values();
  const bool predicts_text = data::is_running_text(values.data.train.value);
  const Wiring wiring = wiring_of(*values.model);
  auto built = checked.model->layers.begin();  // without those that are left out
  for (std::size_t i = 0; i < values.model->layers.size(); ++i) {
    if (!wiring.used[i]) continue;
    const config::Located<Layer>& layer = values.model->layers[i];
    const Shape& output_shape = (built++)->output_shape;
    if (predicts_text) warn_of_seen_future(layer, output_shape, errors);
    const layers::EmbeddingOptions* const embedding = embedding_of(layer.value);
    if (embedding != nullptr && embedding->mask_zero && has_vocabulary(values.data)) {
      errors.warn(layer.place, layer.path,
                  "mask_zero takes the token 0 for padding, but it is the first of the vocabulary, and a text has no "
                  "padding; leave mask_zero out");
    }
    const auto* const norm = config::get_if<layers::BatchNormalization>(&layer.value);
    if (norm != nullptr && norm->momentum > 0 && norm->momentum < 0.5) {
      errors.warn(
          layer.place, layer.path,
          fmt::format("momentum is the part of the moving statistics that each step keeps, as in Keras, so that "
                      "{:g} makes them follow single batches; PyTorch's {:g} is {:g} here",
                      norm->momentum, norm->momentum, 1 - norm->momentum));
    }
  }
}

/// Of an example: [time steps, channels].
constexpr std::size_t kSequenceRank = 2;

enum class Direction : std::uint8_t { kForward, kBackward, kUnknown };

Direction reversed(Direction direction) {
  if (direction == Direction::kUnknown) return direction;
  return direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

/// Whether a layer processes each time step separately, so that their order is kept.
template <class Options>
constexpr bool kKeepsSteps =
    std::is_same_v<Options, layers::Dense> || std::is_same_v<Options, layers::Activation> ||
    std::is_same_v<Options, layers::Dropout> || std::is_same_v<Options, layers::Embedding> ||
    std::is_same_v<Options, layers::LayerNormalization> || std::is_same_v<Options, layers::BatchNormalization>;

/// The order of the time steps of a layer's output, from the orders of its inputs.
template <class Options>
Direction direction_of(const Options& options, const std::vector<Direction>& inputs) {
  const Direction first = inputs.empty() ? Direction::kUnknown : inputs.front();
  if constexpr (requires { options.go_backwards; }) {
    if (!options.return_sequences) return Direction::kUnknown;
    return options.go_backwards ? reversed(first) : first;
  } else if constexpr (std::is_same_v<Options, layers::Flip>) {
    return axis_of_example(options.axis, kSequenceRank) == 0 ? reversed(first) : Direction::kUnknown;
  } else if constexpr (kKeepsSteps<Options>) {
    return first;
  } else if constexpr (std::is_base_of_v<layers::Merge, Options>) {
    const bool is_same = std::ranges::all_of(inputs, [&](Direction one) { return one == first; });
    return is_same ? first : Direction::kUnknown;
  } else {
    return Direction::kUnknown;
  }
}

/// Whether a layer combines time steps of its inputs that have the same index.
template <class Options>
bool joins_steps(const Options& options) {
  if constexpr (std::is_same_v<Options, layers::Concatenate>) return axis_of_example(options.axis, kSequenceRank) == 1;
  return std::is_base_of_v<layers::Merge, Options>;
}

/// Warns of layers that combine the time steps of a forward sequence with those of a reversed one.
void warn_of_directions(const CheckedConfiguration& checked, config::Errors& errors) {
  const auto& listed = checked.values().model->layers;
  const Wiring wiring = wiring_of(*checked.values().model);
  std::vector<Direction> directions;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    std::vector<Direction> inputs;
    for (const int source : wiring.sources[i]) {
      inputs.push_back(source == Wiring::kUnknown ? Direction::kUnknown
                       : wiring.is_input(source)  ? Direction::kForward
                                                  : directions[wiring.layer_of(source)]);
    }
    const Layer& built = listed[wiring.weights_of[i]].value;
    directions.push_back(config::visit([&](const auto& options) { return direction_of(options, inputs); }, built));
    const bool joins = config::visit([](const auto& options) { return joins_steps(options); }, listed[i].value);
    const auto backward = std::ranges::find(inputs, Direction::kBackward);
    if (!joins || backward == inputs.end() || std::ranges::count(inputs, Direction::kForward) == 0) continue;
    // The next layer handles the time steps of each input separately.
    const bool ends_steps =
        i + 1 < listed.size() && (config::holds_alternative<layers::Flatten>(listed[i + 1].value) ||
                                  config::holds_alternative<layers::GlobalAveragePooling<1>>(listed[i + 1].value));
    if (ends_steps) continue;
    const std::size_t source = wiring.layer_of(wiring.sources[i][static_cast<std::size_t>(backward - inputs.begin())]);
    errors.warn(listed[i].place, listed[i].path,
                fmt::format("joins steps of different places: '{}' gives its last step first, as go_backwards does, "
                            "and another input its first; put a flip behind it and name that in `inputs`",
                            config::shortened(wiring.names[source])));
  }
}

/// Warns of validation or test data specified identically to the training data.
void warn_of_same_data(const CheckedConfiguration& checked, config::Errors& errors) {
  const config::Document& document = checked.read.document;
  const bool has_files = std::ranges::any_of(
      document.files, [](const config::NamedFile& named) { return named.path.starts_with("data.train."); });
  const config::Value::Entry* const data = document.root.find("data");
  if (!has_files || data == nullptr || !data->value.is_mapping()) return;
  const config::Value::Entry* const train = data->value.find("train");
  if (train == nullptr) return;
  constexpr std::size_t kWhole = 1 << 20;
  for (const char* const name : {"validation", "test"}) {
    const config::Value::Entry* const split = data->value.find(name);
    if (split == nullptr || config::flow_text(split->value, kWhole) != config::flow_text(train->value, kWhole))
      continue;
    errors.warn(split->key_place, fmt::format("data.{}", name),
                fmt::format("these are the training data, on which a model may only seem good; {}",
                            split->key == "validation" ? "write validation: {fraction: 0.1}, or name other data"
                                                       : "name other data, or leave it out"));
  }
}

/// The names of arrays: "'x', 'y'".
template <class Field>
std::string arrays_text(const std::vector<std::pair<std::string, const Field*>>& fields) {
  std::string text;
  for (const auto& [name, field] : fields)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", data::where(data::NpzLabels(*field)));
  return text.empty() ? "'x'" : text;  // where nothing is said of features
}

/// Warns of archives whose arrays are named for the training data alone: those of the default names may be others.
void warn_of_default_arrays(const CheckedConfiguration& checked, config::Errors& errors) {
  const data::DataOptions& options = checked.values().data;
  const auto* const train = std::get_if<data::Npz>(&options.train.value);
  if (train == nullptr) return;
  const auto check = [&](const config::Place& place, const std::string& path, const data::Npz* split) {
    if (split == nullptr) return;
    const auto compare = [&](bool is_default, std::string_view key, const auto& of_train, const auto& of_split) {
      if (!is_default || errors.concern(fmt::format("{}.{}", path, key)) ||
          arrays_text(of_train) == arrays_text(of_split))
        return;
      errors.warn(
          place, path,
          fmt::format("nothing is said here of the {}, which are taken from {}, though data.train takes {}; name "
                      "them here too",
                      key, arrays_text(of_split), arrays_text(of_train)));
    };
    compare(!split->features && split->inputs.empty(), "features", train->all_inputs(), split->all_inputs());
    compare(split->labels.one == data::Npz().labels.one, "labels", train->all_labels(), split->all_labels());
  };
  const auto& validation = options.validation;
  const auto& test = options.test;
  check(validation.place, validation.path, validation.value ? std::get_if<data::Npz>(&*validation.value) : nullptr);
  check(test.place, test.path, test.value ? std::get_if<data::Npz>(&*test.value) : nullptr);
}

/// `section`: the path of the rate, for keys.
void warn_of_schedule(const CheckedConfiguration& checked, const LearningRate& rate, const std::string& section,
                      std::int64_t steps, config::Errors& errors) {
  const auto warn = [&](const std::string& key, const std::string& message) {
    const std::string path = section + key;
    errors.warn(checked.place_of(path), path, message);
  };
  const auto* const cosine = std::get_if<schedules::CosineDecay>(&rate);
  if (cosine != nullptr && cosine->warmup_target && cosine->warmup_steps >= steps) {
    return warn("warmup_steps",
                fmt::format("{} is not less than the {} steps of this run, so that the learning rate only "
                            "rises; use fewer, or train longer",
                            cosine->warmup_steps, steps));
  }
  const auto* const polynomial = std::get_if<schedules::PolynomialDecay>(&rate);
  std::int64_t end = 0;  // of the decay
  if (cosine != nullptr) end = (cosine->warmup_target ? cosine->warmup_steps : 0) + cosine->decay_steps;
  if (polynomial != nullptr && !polynomial->cycle) end = polynomial->decay_steps;
  double largest = 0;
  for (const std::int64_t step : {std::int64_t{1}, end / 4, end / 2})
    largest = std::max(largest, learning_rate_at(rate, step));
  const double last = learning_rate_at(rate, steps);
  constexpr double kSmall = 0.01;
  if (end == 0 || 4 * end > 3 * steps || last > kSmall * largest) return;
  warn("decay_steps",
       fmt::format("the learning rate is {:g} from step {} on, and this run has {} steps, so that the rest "
                   "changes hardly anything; give it {} steps, or train shorter",
                   last, end, steps,
                   steps - (end - (cosine != nullptr ? cosine->decay_steps : polynomial->decay_steps))));
}

/// Calls visit(optimizer, its path) for each.
void for_each_optimizer(const CheckedConfiguration& checked,
                        const std::function<void(const Optimizer& optimizer, const std::string& path)>& visit) {
  const auto& optimizers = checked.values().optimizer;
  for (std::size_t i = 0; optimizers && i < optimizers->all.size(); ++i) {
    visit(optimizers->all[i], optimizers->is_list ? fmt::format("optimizer[{}]", i) : "optimizer");
  }
}

}  // namespace

void warn_of_options(const CheckedConfiguration& checked, config::Errors& errors) {
  for_each_optimizer(checked, [&](const Optimizer& optimizer, const std::string& path) {
    warn_of_optimizer(checked, optimizer, path, errors);
  });
  warn_of_layers(checked, errors);
  warn_of_idle_layers(checked, errors);
  warn_of_directions(checked, errors);
  warn_of_same_data(checked, errors);
  warn_of_default_arrays(checked, errors);
}

void warn_of_schedule(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors) {
  if (steps == 0) return;
  for_each_optimizer(checked, [&](const Optimizer& optimizer, const std::string& path) {
    warn_of_schedule(checked, learning_rate_of(optimizer), path + ".learning_rate.", steps, errors);
  });
}

}  // namespace mirrortrain
