#include "model/layer_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/philox.h"
#include "base/utf8.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain {

void check_elements(const Shape& shape, std::string_view what) {
  if (shape.is_possible()) return;
  throw Error(fmt::format("the {} would have the shape {}, which has more elements than any memory can hold", what,
                          shape.text()));
}

void LayerBuilder::begin_layer(const std::string& name, bool trainable, bool inputs_are_guessed,
                               std::vector<ValueId> masks, const std::string& weights_of) {
  layer_ = name;
  weights_of_ = weights_of.empty() ? name : weights_of;
  trainable_ = trainable;
  inputs_are_guessed_ = inputs_are_guessed;
  parameters_ = 0;
  masks_ = std::move(masks);
  output_mask_ = kNoValue;
  warnings_.clear();
  graph().set_layer(name);
}

LayerBuilder::InnerCall::InnerCall(LayerBuilder& builder, std::size_t call)
    : builder_(builder),
      call_before_(std::exchange(builder.inner_call_, call)),
      warnings_before_(builder.warnings_.size()),
      masks_before_(std::exchange(builder.masks_, {})) {}

LayerBuilder::InnerCall::~InnerCall() {
  if (std::exchange(builder_.output_mask_, kNoValue) != kNoValue) {
    builder_.warn_of_lost_mask("the layer inside makes it of one step");
  }
  if (builder_.inner_call_ > 0) builder_.warnings_.resize(warnings_before_);  // the first call's are enough
  builder_.inner_call_ = call_before_;
  builder_.masks_ = std::move(masks_before_);
}

void LayerBuilder::mask_output(Masking masking, std::string_view type) {
  if (masking == Masking::kPasses) set_output_mask(mask(0));
  if (masking == Masking::kEnds && has_masks()) warn_of_lost_mask(fmt::format("{} carries none on", type));
}

ValueId LayerBuilder::plus_along_last(ValueId value, ValueId vector) {
  Shape along_last(std::vector<std::int64_t>(shape(value).rank(), 1));
  along_last[along_last.rank() - 1] = shape(value).back();
  return apply(ops::Combine(ops::CombineKind::kAdd), {value, apply(ops::Reshape(along_last), {vector})});
}

ModelInput* LayerBuilder::model_input(ValueId value) {
  const auto root = [&] {
    while (graph().value(value).source == Graph::Source::kNode) {
      const Node& node = graph().node(graph().value(value).producer);
      const bool changes_nothing = node.op->is_alias() || dynamic_cast<const ops::Cast*>(node.op.get()) != nullptr;
      if (!changes_nothing) return kNoValue;
      value = node.inputs[0];
    }
    return value;
  }();
  const auto found = std::ranges::find(model_graph_.inputs, root, &ModelInput::value);
  return root == kNoValue || found == model_graph_.inputs.end() ? nullptr : &*found;
}

void LayerBuilder::mask_zero(ValueId numbers) {
  ModelInput& input = *model_input(numbers);
  input.pads_with_zero = true;
  input.lookups.back().masks_zero = true;
  set_output_mask(apply(ops::PaddingMask(), {numbers}));
}

/// Only a mask of one input's padding: where several are joined, a sequence may have what another lacks.
void LayerBuilder::note_mean_of_steps() {
  if (!ops::is_of_padding(graph(), mask(0))) return;
  std::vector<ValueId> numbers = ops::padded_numbers(graph(), mask(0));
  if (numbers.size() != 1) return;
  // Not where the mask is of numbers that a layer computed.
  if (ModelInput* const input = model_input(numbers.front())) input->averages_steps = true;
}

void LayerBuilder::warn_of_lost_mask(std::string_view why) {
  warn(fmt::format(
      "the mask of the padding ends here, as {}: later layers, loss and metrics count padding like anything else",
      why));
}

bool LayerBuilder::has_masks() const {
  return std::ranges::any_of(masks_, [](ValueId mask) { return mask != kNoValue; });
}

std::string LayerBuilder::described(ValueId input) const {
  const NodeId producer = model_graph_.graph.value(input).producer;
  const std::string layer = producer < 0 ? "" : model_graph_.graph.node(producer).layer;
  const std::vector<std::string_view> unknown(shape(input).rank(), "?");
  const std::string text = inputs_are_guessed_ ? fmt::format("[{}]", fmt::join(unknown, ", ")) : shape(input).text();
  if (!layer.empty()) return fmt::format("{} of '{}'", text, layer);
  const bool is_only = model_graph_.inputs.size() == 1;
  return text +
         (is_only ? " of the model's input" : fmt::format(" of the input '{}'", model_graph_.graph.value(input).name));
}

std::string LayerBuilder::sequence_remedy(ValueId input) const {
  if (shape(input).rank() != 1) return "";
  const Graph& graph = model_graph_.graph;
  const NodeId producer = graph.value(input).producer;
  if (producer < 0) return "; put an embedding before it, or describe the steps in model.input_shape";
  const std::string& layer = graph.node(producer).layer;
  for (NodeId id = producer; id >= 0 && graph.node(id).layer == layer; --id) {
    if (graph.node(id).op->name() == "recurrent") return fmt::format("; give '{}' return_sequences: true", layer);
  }
  const Node& last = graph.node(producer);
  const bool is_flattened = last.op->name() == "reshape" && shape(last.inputs[0]).rank() == 2;
  return is_flattened ? fmt::format("; leave '{}' out, which makes one row of the steps", layer) : "";
}

namespace {

/// "; where there is one channel write input_shape: [28, 28, 1]" for an input of the model that lacks only that axis.
std::string channel_remedy(const ModelGraph& model, ValueId input, std::size_t rank) {
  const Shape& shape = model.graph.spec(input).shape;
  if (model.graph.value(input).producer >= 0 || shape.rank() + 1 != rank) return "";
  std::vector<std::int64_t> with_channel(shape.begin(), shape.end());
  with_channel.push_back(1);
  return fmt::format("; where there is one channel write {}: [{}]", model.inputs.size() == 1 ? "input_shape" : "shape",
                     fmt::join(with_channel, ", "));
}

}  // namespace

const Shape& LayerBuilder::image(ValueId input) const {
  if (shape(input).rank() == 3) return shape(input);
  throw WrongRank(fmt::format("expected images [height, width, channels], found the shape {}{}", described(input),
                              inputs_are_guessed_ ? "" : channel_remedy(model_graph_, input, 3)));
}

const Shape& LayerBuilder::sequence(ValueId input) const {
  if (shape(input).rank() == 2) return shape(input);
  throw WrongRank(fmt::format("expected sequences [steps, channels], found the shape {}{}", described(input),
                              sequence_remedy(input)));
}

const Shape& LayerBuilder::spatial(ValueId input, std::size_t axes) const {
  if (axes == 1) return sequence(input);
  if (axes == 2) return image(input);
  if (shape(input).rank() == 4) return shape(input);
  throw WrongRank(fmt::format("expected volumes [depth, height, width, channels], found the shape {}{}",
                              described(input), inputs_are_guessed_ ? "" : channel_remedy(model_graph_, input, 4)));
}

ValueId LayerBuilder::whole_numbers(ValueId input, std::int64_t limit) {
  ModelInput* const source = model_input(input);
  if (source == nullptr) {
    throw Error(fmt::format("expected whole numbers from {}, found the shape {}",
                            model_graph_.inputs.size() == 1 ? "the model's input" : "an input of the model",
                            described(input)));
  }
  source->numbers_below = std::min(limit, source->numbers_below.value_or(limit));
  source->lookups.push_back({weights_of_, limit});
  return shape(source->value) == shape(input) ? source->value : apply(ops::Reshape(shape(input)), {source->value});
}

std::uint32_t LayerBuilder::random_stream() const {
  const std::string part = part_.empty() ? "" : "/" + part_,
                    call = inner_call_ == 0 ? "" : fmt::format("#{}", inner_call_);
  return static_cast<std::uint32_t>(hash_of_name(layer_ + part + call));
}

const Shape& LayerBuilder::features(ValueId input) const {
  if (shape(input).rank() >= 1) return shape(input);
  throw WrongRank(
      fmt::format("expected an input with at least one axis, found the shape {}; {}", described(input), kNumberRemedy));
}

namespace {

template <class Options>
WeightConstraint constraint_of(const Options& options, std::string_view name, const Shape& shape) {
  WeightConstraint constraint{options.bound(), std::vector<bool>(shape.rank())};
  const auto rank = static_cast<std::int64_t>(shape.rank());
  for (const std::int64_t axis : options.axes()) {
    const std::int64_t from_front = axis < 0 ? axis + rank : axis;
    if (from_front < 0 || from_front >= rank) {
      throw Error(fmt::format("the constraint of the {} expected axes from {} to {} of its shape {}, found {}", name,
                              -rank, rank - 1, shape.text(), axis));
    }
    if (constraint.axes[static_cast<std::size_t>(from_front)]) {
      throw Error(fmt::format("the constraint of the {} lists the axis {} of its shape {} twice", name, from_front,
                              shape.text()));
    }
    constraint.axes[static_cast<std::size_t>(from_front)] = true;
  }
  for (const bool reduced : {false, true}) {  // as scalar::StridedAxes walks over them
    std::size_t groups = 0;
    bool is_inside = false;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      if (!is_inside && constraint.axes[axis] == reduced) ++groups;
      is_inside = constraint.axes[axis] == reduced;
    }
    if (groups > 2) {
      throw Error(
          fmt::format("the constraint of the {}, whose shape is {}, takes every second axis; expected axes side "
                      "by side, such as those of its filters, [0, 1, 2, 3]",
                      name, shape.text()));
    }
  }
  return constraint;
}

}  // namespace

ValueId LayerBuilder::weight(std::string_view name, Shape shape, const Initializer& initializer,
                             const std::optional<Regularizer>& regularizer, const std::optional<Constraint>& constraint,
                             const std::function<void(std::span<float>)>& adjust) {
  const std::string full_name = fmt::format("{}/{}{}{}", weights_of_, part_, part_.empty() ? "" : "/", name);
  check_elements(shape, name);
  if (weights_of_ != layer_ || inner_call_ > 0) return reused(full_name, shape);
  check_initializer(initializer, name, shape);
  ModelVariable variable{{full_name, shape, trainable_}, [=](std::span<float> elements, std::uint64_t seed) {
                           initialize(initializer, shape, full_name, seed, elements);
                           if (adjust) adjust(elements);
                         }};
  // As in Keras, a frozen weight adds nothing to the loss.
  if (regularizer && trainable_) {
    variable.l1 = static_cast<float>(regularizer->l1);
    variable.l2 = static_cast<float>(regularizer->l2);
  }
  if (constraint) {
    const WeightConstraint of_weight =
        std::visit([&](const auto& options) { return constraint_of(options, name, shape); }, *constraint);
    if (trainable_) variable.constraint = of_weight;
  }
  const ValueId added = add(std::move(variable));
  if (regularizer && regularizer->orthogonal_regularizer) {
    check_angles(*regularizer->orthogonal_regularizer, shape, name);
    if (trainable_) angles_.push_back({*regularizer->orthogonal_regularizer, added, layer_});
  }
  return added;
}

ValueId LayerBuilder::statistic(std::string_view name, Shape shape, const Initializer& initializer,
                                const std::function<void(std::span<float>)>& adjust) {
  const bool layer_trainable = std::exchange(trainable_, false);
  const ValueId variable = weight(name, std::move(shape), initializer, std::nullopt, std::nullopt, adjust);
  trainable_ = layer_trainable;
  return variable;
}

ValueId LayerBuilder::weight_of(std::string_view layer, std::string_view name) {
  const std::string wanted = fmt::format("{}/{}", layer, name);
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < model_graph_.variables.size(); ++i) {
    const std::string& known = variables_[i].spec.name;
    if (known == wanted) return model_graph_.variables[i];
    if (known.ends_with(fmt::format("/{}", name))) layers.push_back(known.substr(0, known.size() - name.size() - 1));
  }
  throw Error(
      fmt::format("expected an earlier layer with {}, found '{}'{}", name, shortened(layer),
                  layers.empty() ? "; there is none" : fmt::format("; choose '{}'", fmt::join(layers, "', '"))));
}

ValueId LayerBuilder::add(ModelVariable variable) {
  const ValueId id = graph().variable(variable.spec);
  parameters_ += variable.spec.shape.elements();
  model_graph_.variables.push_back(id);
  if (variables_.size() < model_graph_.variables.size()) variables_.push_back(std::move(variable));
  return id;
}

ValueId LayerBuilder::reused(const std::string& name, const Shape& needed) {
  for (std::size_t i = 0; i < model_graph_.variables.size(); ++i) {
    const VariableSpec& known = variables_[i].spec;
    if (known.name != name) continue;
    if (known.shape == needed) return model_graph_.variables[i];
    throw Error(
        fmt::format("'{}' has the shape {}, made for the inputs of '{}', but these inputs need {}; give both "
                    "calls inputs of one shape",
                    name, known.shape.text(), weights_of_, needed.text()));
  }
  throw Error(fmt::format("'{}' has no '{}' to use again", weights_of_, name));
}

void LayerBuilder::regularize(ValueId y, const Regularizer& regularizer) {
  if (regularizer.l1 == 0 && regularizer.l2 == 0) return;
  if (graph().spec(y).dtype != DType::kFloat32) y = apply(ops::Cast(DType::kFloat32), {y});
  std::string formula;
  if (regularizer.l1 != 0) formula = fmt::format("{} * sum(abs(y))", regularizer.l1);
  if (regularizer.l2 != 0)
    formula += fmt::format("{}{} * sum(square(y))", formula.empty() ? "" : " + ", regularizer.l2);
  const ValueId penalty = formula::add_formula(graph(), formula, {{"y", y}}, DType::kFloat32);
  model_graph_.penalties.push_back(apply(ops::Reshape({1}), {penalty}));
}

void LayerBuilder::regularize_angles() {
  for (const auto& [regularizer, weight, layer] : std::exchange(angles_, {})) {
    graph().set_layer(layer);
    model_graph_.penalties.push_back(penalty_of(regularizer, graph(), weight, rows()));
  }
}

ValueId LayerBuilder::find_weight(std::string_view layer, std::string_view name) const {
  const std::string wanted = fmt::format("{}/{}", layer, name);
  for (std::size_t i = 0; i < model_graph_.variables.size(); ++i) {
    if (variables_[i].spec.name == wanted) return model_graph_.variables[i];
  }
  return kNoValue;
}

void LayerBuilder::normalize_spectrum(std::string_view weight, ValueId vector, int iterations) {
  variables_[number_of(own_weight(weight))].spectrum = Spectrum{number_of(vector), iterations};
}

/// In the model's variables.
std::size_t LayerBuilder::number_of(ValueId variable) const {
  const auto& all = model_graph_.variables;
  return static_cast<std::size_t>(std::ranges::find(all, variable) - all.begin());
}

void LayerBuilder::assign(ValueId variable, ValueId value) {
  const std::size_t number = number_of(variable);
  auto& all = model_graph_.assignments;
  const auto before = std::ranges::find(all, number, &Assignment::variable);
  if (before != all.end()) {
    before->value = value;
  } else {
    all.push_back({number, value});
  }
}

ValueId LayerBuilder::assigned(ValueId variable) const {
  for (const Assignment& assignment : model_graph_.assignments) {
    if (model_graph_.variables[assignment.variable] == variable) return assignment.value;
  }
  return variable;
}

}  // namespace mirrortrain
