#include "model/layers.h"

#include <algorithm>
#include <array>

#include "config/scalar.h"

template class mirrortrain::config::OneOf<mirrortrain::PlainLayers>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::PlainLayer>();
template class mirrortrain::config::OneOf<mirrortrain::Layers>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Layer>();

namespace mirrortrain {
namespace {

template <class... Types>
consteval std::array<std::string_view, sizeof...(Types)> names_of(const config::Types<Types...>*) {
  return {Types::kName...};
}

}  // namespace

bool is_layer_type(std::string_view name) {
  static constexpr auto kNames = names_of(config::detail::kList<Layers>);
  return std::ranges::find(kNames, name) != kNames.end();
}

bool goes_backwards(const Layer& layer) {
  return config::visit(
      [](const auto& options) {
        if constexpr (requires { options.go_backwards; }) return options.go_backwards;
        return false;
      },
      layer);
}

const layers::EmbeddingOptions* embedding_of(const Layer& layer) {
  return config::visit(
      [](const auto& options) -> const layers::EmbeddingOptions* {
        if constexpr (requires { options.embeddings_initializer; }) return &options;
        return nullptr;
      },
      layer);
}

}  // namespace mirrortrain

void mirrortrain::config::ChoiceTag<mirrortrain::Layer>::remember(const Value& item, Layer& layer) {
  const bool is_entry = item.is_mapping() && item.entries().size() == 1;
  const auto type = is_entry ? std::optional(item.entries()[0].key) : as_text(item);
  const Value::Entry* const name =
      is_entry && item.entries()[0].value.is_mapping() ? item.entries()[0].value.find("name") : nullptr;
  const auto given = name != nullptr ? as_text(name->value) : std::nullopt;
  const auto known = given || !type ? given : std::string(kUnreadName) + *type;
  visit([&](auto& options) { options.name.value = known; }, layer);
}
