#include "keras/reading/masks.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <ranges>

#include "keras/reading/mask_traits.h"
#include "keras/reading/masks_in_file.h"
#include "keras/reading/network_calls.h"

namespace mirrortrain::keras {
namespace {

using AtRun = MaskState::AtRun;

bool sees_the_same(const MaskPlan& a, const MaskPlan& b) {
  return a.unmasked == b.unmasked && a.without_query_mask == b.without_query_mask;
}

int strength(AtRun at_run) { return at_run == AtRun::kNone ? 0 : at_run == AtRun::kUnsure ? 1 : 2; }

/// Whether a value carries a mask here, and none in Keras.
bool is_too_much(const MaskState& state, const std::string& where, Problems& problems) {
  if (state.carries && state.at_run == AtRun::kUnsure) {
    problems.add(
        where,
        "whether a mask of padding reaches it depends in Keras on whether the model trains: its "
        "MultiHeadAttention takes the mask off its inputs, and dropout's output is its input in prediction; "
        "build the model so that what attention and dropout read is read by nothing else, or without mask_zero");
  }
  return state.carries && state.at_run == AtRun::kNone;
}

void refuse_other_padding(const std::string& where, Problems& problems) {
  problems.add(where,
               "sees padding in Keras, as a MultiHeadAttention has taken the mask off what it read, though later "
               "layers have one: that cannot be written here; build the model without mask_zero, or with "
               "MultiHeadAttention in place of Attention");
}

class Masks {
 public:
  Masks(const Network& network, int level, QueryMasks query_masks, Problems& problems)
      : network_(network), level_(level), query_masks_(query_masks), problems_(problems) {}

  MaskPlan follow(std::vector<MaskState> inputs) {
    inputs.resize(network_.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) states_[key(network_.inputs[i])] = std::move(inputs[i]);
    const std::vector<NetworkCall> order = calls_as_keras_runs(network_);
    find_needed(order);
    for (const auto& [layer, number] : order) {
      if (layer->is_input()) continue;
      const MaskState state = behind(*layer, number);
      if (state.carries) plan_.masked.insert({layer->name, number});
      states_[{layer->name, number}] = state;
    }
    for (const Tensor& output : network_.outputs) plan_.outputs.push_back(states_[key(output)]);
    for (const Tensor& input : network_.inputs) plan_.inputs.push_back(states_[key(input)]);
    return std::move(plan_);
  }

 private:
  static LayerCall key(const Tensor& tensor) { return {tensor.layer, tensor.call}; }

  void require_same_padding(const MaskState& state, const std::string& where) {
    if (!state.is_other_at_padding) return;
    plan_.sees_other_padding = true;
    refuse_other_padding(where, problems_);
  }

  /// Finds the values whose masks reach a layer that has its mask in the file.
  void find_needed(const std::vector<NetworkCall>& order) {
    for (const auto& [layer, number] : std::views::reverse(order)) {
      const Call& call = layer->calls[number];
      const bool reaches = needed_.contains({layer->name, number});
      if (call.masks.empty() && !reaches) continue;
      const bool is_of_all = !call.masks.empty() || merges_masks(layer->class_name);
      for (std::size_t i = 0; i < call.inputs.size() && (i == 0 || is_of_all); ++i) needed_.insert(key(call.inputs[i]));
    }
  }

  /// The masks that the file names have to be those that the inputs carry.
  void check_named(const NetworkLayer& layer, const Call& call) {
    for (std::size_t i = 0; i < call.masks.size(); ++i) {
      const auto makers = masks_in_file_.makers_of(call.masks[i]);
      const auto carries_it = [&](const Tensor& input) {
        const MaskState& state = states_[key(input)];
        return state.is_foreign || (state.carries && makers && !makers->empty() && state.makers == *makers);
      };
      const bool is_its_own = call.masks.size() == call.inputs.size() ? makers && carries_it(call.inputs[i])
                                                                      : std::ranges::any_of(call.inputs, carries_it);
      if (is_its_own && makers) continue;
      problems_.add(layer.described(),
                    "is called with a mask of your own, or with that of another tensor; here a tensor has the mask of "
                    "the embedding (mask_zero) or the masking layer that it comes from: call the layer without `mask`");
      return;
    }
  }

  /// Has an input read without its mask where Keras's layer sees none.
  void unmask(const NetworkLayer& layer, std::size_t number, std::size_t input) {
    MaskState& state = states_[key(layer.calls[number].inputs[input])];
    if (!is_too_much(state, layer.described(), problems_)) return;
    require_same_padding(state, layer.described());
    plan_.unmasked.insert({{layer.name, number}, input});
  }

  MaskState behind(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    const std::string& type = layer.class_name;
    check_named(layer, call);
    if (layer.is_operation()) return behind_end(layer, call);
    if (type == "Masking" || (at(*layer.config, "mask_zero") == Json(true) && !call.options.contains("reverse"))) {
      MaskState made{true, AtRun::kMask, {}};
      if (!call.inputs.empty()) made.makers = {comparison(call.inputs[0], at(*layer.config, "mask_value"))};
      return made;
    }
    if (call.inputs.empty()) return {};
    if (layer.is_network()) return behind_model(layer, number);
    if (type.ends_with("Attention")) return behind_attention(layer, number);
    if (merges_masks(type)) return behind_merge(layer, number);
    if (type == "SpectralNormalization" && !passes_mask(text_at(at(*layer.config, "layer"), "class_name"))) {
      return behind_end(layer, call);
    }
    if (passes_mask(type) || is_noise(type)) return behind_passing(layer, number);
    if (layer.config->contains("return_sequences") || type == "Bidirectional") return behind_recurrent(layer, number);
    if (type == "GlobalAveragePooling1D") {
      if (call.masks.empty()) unmask(layer, number, 0);
      return {};
    }
    return behind_end(layer, call);
  }

  /// Keras hands the mask on as it is, though the steps are in the other order; here it is reversed with them.
  void refuse_reversed_mask(const NetworkLayer& layer, const MaskState& state) {
    const auto is_set = [&](const char* option) { return at(*layer.config, option) == Json(true); };
    if (!state.carries || !is_set("go_backwards") || !is_set("return_sequences")) return;
    problems_.add(layer.described(),
                  "go_backwards with return_sequences: Keras leaves the mask of the padding as it is, out of step with "
                  "the steps, and here it is reversed with them; build the model with Bidirectional, or without "
                  "mask_zero");
  }

  MaskState behind_recurrent(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    MaskState state = states_[key(call.inputs[0])];
    if (call.masks.empty()) {
      unmask(layer, number, 0);
      state.carries = state.carries && state.at_run != AtRun::kNone;
    } else {
      state.at_run = AtRun::kMask;
    }
    refuse_reversed_mask(layer, state);
    state.is_other_at_padding = false;  // there a step has the state before it
    return at(inside_of(layer), "return_sequences") == Json(true) ? state : MaskState();
  }

  /// Behind a layer that knows no masks.
  MaskState behind_end(const NetworkLayer& layer, const Call& call) {
    for (const Tensor& input : call.inputs) require_same_padding(states_[key(input)], layer.described());
    return {};
  }

  MaskState behind_passing(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    MaskState state = states_[key(call.inputs[0])];
    if (!call.masks.empty()) state.at_run = AtRun::kMask;
    const bool reads_mask = layer.class_name == "BatchNormalization" || layer.class_name == "TimeDistributed";
    if (reads_mask && call.masks.empty()) {
      unmask(layer, number, 0);
      state.carries = state.carries && state.at_run != AtRun::kNone;
    }
    if (returns_its_input(layer) || is_noise(layer.class_name)) same_as_[{layer.name, number}] = key(call.inputs[0]);
    return state;
  }

  MaskState behind_merge(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    const bool is_of_any = layer.class_name == "Concatenate";
    MaskState result{!is_of_any, is_of_any ? AtRun::kNone : AtRun::kMask, {}};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      // These take masked steps out of what they compute.
      if (layer.class_name == "Multiply" || layer.class_name == "Maximum") unmask(layer, number, i);
      const MaskState& state = states_[key(call.inputs[i])];
      const bool is_unmasked = plan_.unmasked.contains({{layer.name, number}, i});
      const bool carries = state.carries && !is_unmasked;
      result.carries = is_of_any ? result.carries || carries : result.carries && carries;
      const bool decides = is_of_any ? strength(state.at_run) > strength(result.at_run)
                                     : strength(state.at_run) < strength(result.at_run);
      if (decides) result.at_run = state.at_run;
      result.makers.insert(state.makers.begin(), state.makers.end());
      result.is_foreign = result.is_foreign || state.is_foreign;
      result.is_other_at_padding = result.is_other_at_padding || state.is_other_at_padding;
    }
    return result;
  }

  MaskState behind_attention(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    MaskState state = states_[key(call.inputs[0])];
    if (!call.masks.empty()) {  // of the query, or of both: only Attention and AdditiveAttention name them
      state.at_run = AtRun::kMask;
      return state;
    }
    const bool has_query_mask = is_too_much(state, layer.described(), problems_);
    // Masked steps of a query see nothing here, unless the layer is told otherwise. Where the query's mask ends anyway,
    // it is read without.
    const bool is_needed = needed_.contains({layer.name, number});
    if (has_query_mask && !is_needed) unmask(layer, number, 0);
    if (has_query_mask && is_needed) {
      if (query_masks_ == QueryMasks::kLeft && is_of_heads(layer)) {
        plan_.without_query_mask.insert({layer.name, number});
      } else {
        state.is_other_at_padding = true;
      }
    }
    for (std::size_t i = 1; i < call.inputs.size(); ++i) unmask(layer, number, i);
    state.carries = state.carries && !plan_.unmasked.contains({{layer.name, number}, 0});
    if (layer.class_name == "MultiHeadAttention") {
      for (const Tensor& input : call.inputs) take_off(key(input), AtRun::kNone);
    }
    return state;
  }

  /// Takes the mask off a value, and off those that are the same tensor.
  void take_off(const LayerCall& value, AtRun left) {
    states_[value].at_run = left;
    for (const auto& [output, input] : same_as_) {
      if (output != value && input != value) continue;
      const LayerCall& other = output == value ? input : output;
      const NetworkLayer* const between = network_.find(output.first);
      const bool is_same = !is_noise(between->class_name) || at(*between->config, "rate") == Json(0.0);
      const AtRun of_other = is_same ? left : AtRun::kUnsure;
      if (strength(of_other) < strength(states_[other].at_run)) take_off(other, of_other);
    }
  }

  MaskState behind_model(const NetworkLayer& layer, std::size_t number) {
    const Call& call = layer.calls[number];
    std::vector<MaskState> inputs;
    for (const Tensor& input : call.inputs) {
      MaskState& state = states_[key(input)];
      require_same_padding(state, layer.described());
      if (!call.masks.empty()) state.at_run = AtRun::kMask;
      inputs.push_back({state.carries, state.at_run, {}, state.carries, false});
    }
    const MaskPlan& plan = plan_of(layer, inputs);
    plan_.sees_other_padding = plan_.sees_other_padding || plan.sees_other_padding;
    if (plan.inputs.size() != inputs.size() || plan.outputs.empty()) return {};  // reported where it is converted
    const auto first = plan_.inputs_of_models.find({layer.name, 0});
    if (first != plan_.inputs_of_models.end() && !sees_the_same(plan_of(layer, first->second), plan)) {
      problems_.add(layer.described(),
                    "is called on tensors with a mask and without one, with which its attention does not see the same "
                    "in Keras; build a model for each");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (plan.inputs[i].at_run != inputs[i].at_run) take_off(key(call.inputs[i]), plan.inputs[i].at_run);
    }
    MaskState state = plan.outputs[0];
    state.makers.clear();
    state.is_foreign = state.carries;
    plan_.inputs_of_models[{layer.name, number}] = std::move(inputs);
    return state;
  }

  const MaskPlan& plan_of(const NetworkLayer& model, const std::vector<MaskState>& inputs) {
    const auto is_this = [&](const ModelPlan& known) { return known.model == &model && known.inputs == inputs; };
    const auto known = std::ranges::find_if(model_plans_, is_this);
    if (known != model_plans_.end()) return known->plan;
    Problems damage, inside;  // what is inside is reported when that is converted
    const Network network = read_network(model, damage);
    MaskPlan plan;
    if (damage.empty() && level_ < kMostNested && network.inputs.size() == inputs.size()) {
      plan = Masks(network, level_ + 1, query_masks_, inside).follow(inputs);
    }
    return model_plans_.emplace_back(ModelPlan{&model, inputs, std::move(plan)}).plan;
  }

  struct ModelPlan {
    const NetworkLayer* model;
    std::vector<MaskState> inputs;
    MaskPlan plan;
  };

  const Network& network_;
  int level_;
  QueryMasks query_masks_;
  Problems& problems_;
  MasksInFile masks_in_file_{network_};
  MaskPlan plan_;
  std::map<LayerCall, MaskState> states_;
  std::map<LayerCall, LayerCall> same_as_;  ///< values that are their layers' inputs themselves, with their mask
  std::deque<ModelPlan> model_plans_;
  std::set<LayerCall> needed_;  ///< see find_needed()
};

}  // namespace

bool makes_masks(const Json& json) {
  if (text_at(json, "class_name") == "Masking" || at(json, "mask_zero") == Json(true)) return true;
  return json.is_structured() && std::ranges::any_of(json, makes_masks);
}

QueryMasks query_masks_of(const Network& network) {
  Problems ignored;
  const MaskPlan plan = Masks(network, 0, QueryMasks::kUsed, ignored).follow({});
  const bool is_seen = plan.sees_other_padding || std::ranges::any_of(plan.outputs, [&](const MaskState& output) {
                         return is_too_much(output, "", ignored) && output.is_other_at_padding;
                       });
  return is_seen ? QueryMasks::kLeft : QueryMasks::kUsed;
}

MaskPlan plan_masks(const Network& network, std::vector<MaskState> inputs, QueryMasks query_masks, Problems& problems) {
  return Masks(network, 0, query_masks, problems).follow(std::move(inputs));
}

bool ends_at_output(const MaskState& output, const std::string& where, Problems& problems) {
  if (!is_too_much(output, where, problems)) return false;
  if (output.is_other_at_padding) refuse_other_padding(where, problems);
  return true;
}

}  // namespace mirrortrain::keras
