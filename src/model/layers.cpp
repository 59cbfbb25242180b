#include "model/layers.h"

#include "config/scalar.h"

template class mirrortrain::config::CompiledOnce<mirrortrain::PlainLayerVariant>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::PlainLayer>();
template class mirrortrain::config::CompiledOnce<mirrortrain::LayerVariant>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Layer>();

namespace mirrortrain {

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
