#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace mirrortrain::config {

/// A std::variant of many alternatives whose copies and assignments are compiled once instead of in every file that
/// copies one: they grow with the number of alternatives. A choice is a class of its own that derives from this one,
///
///   struct Layer : config::CompiledOnce<LayerVariant> {
///     using CompiledOnce::CompiledOnce;
///   };
///
/// because the list of its alternatives, two thousand characters for a hundred, would else be a part of the name of
/// every function that is made for the choice. Its header declares, and one file instantiates,
///
///   extern template class mirrortrain::config::CompiledOnce<mirrortrain::LayerVariant>;
///   extern template const Choice& mirrortrain::config::detail::choice_of<mirrortrain::Layer>();
///
/// of which the latter, how it is read and written (config/choice.h), comes after its ChoiceTag.
template <class Variant>
class CompiledOnce : public Variant {
 public:
  using Alternatives = Variant;
  using Variant::Variant;
  CompiledOnce();
  CompiledOnce(const CompiledOnce&);
  CompiledOnce(CompiledOnce&&) noexcept;
  CompiledOnce& operator=(const CompiledOnce&);
  CompiledOnce& operator=(CompiledOnce&&) noexcept;
  ~CompiledOnce();
};

/// The std::variant that a type is, and whether it is one.
template <class T>
struct VariantOf {
  static constexpr bool kIsOne = false;
};
template <class... Ts>
struct VariantOf<std::variant<Ts...>> {
  static constexpr bool kIsOne = true;
  using Type = std::variant<Ts...>;
};
template <class T>
requires requires { typename T::Alternatives; }
struct VariantOf<T> : VariantOf<typename T::Alternatives> {};

template <class T>
concept AnyVariant = VariantOf<T>::kIsOne;

namespace detail {

struct Choice;
template <class Variant>
const Choice& choice_of();

template <std::size_t I, class Result, class Function, class Choice>
Result call_with(Function& function, Choice& choice) {
  return function(*std::get_if<I>(&choice));
}

}  // namespace detail

/// std::visit for a class that derives from CompiledOnce: what it makes for each alternative has a short name.
template <class Function, class Choice>
decltype(auto) visit(Function&& function, Choice& choice) {
  using Variant = typename VariantOf<std::remove_const_t<Choice>>::Type;
  using Called = std::remove_reference_t<Function>;
  using Result = decltype(function(*std::get_if<0>(&choice)));
  if (choice.valueless_by_exception()) throw std::bad_variant_access();
  return [&]<std::size_t... I>(std::index_sequence<I...>)->Result {
    static constexpr Result (*kCalls[])(Called&, Choice&) = {&detail::call_with<I, Result, Called, Choice>...};
    return kCalls[choice.index()](function, choice);
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>());
}

// Not inline: an inline function would be compiled wherever it is used, whatever `extern template` says.
template <class Variant>
CompiledOnce<Variant>::CompiledOnce() = default;
template <class Variant>
CompiledOnce<Variant>::CompiledOnce(const CompiledOnce&) = default;
template <class Variant>
CompiledOnce<Variant>::CompiledOnce(CompiledOnce&&) noexcept = default;
template <class Variant>
CompiledOnce<Variant>& CompiledOnce<Variant>::operator=(const CompiledOnce& other) {
  return *this = CompiledOnce(other);
}
// By one function for each alternative, where that of std::variant has two.
template <class Variant>
CompiledOnce<Variant>& CompiledOnce<Variant>::operator=(CompiledOnce&& other) noexcept {
  if (this == &other) return *this;
  visit([this](auto& held) { this->template emplace<std::remove_cvref_t<decltype(held)>>(std::move(held)); }, other);
  return *this;
}
template <class Variant>
CompiledOnce<Variant>::~CompiledOnce() = default;

}  // namespace mirrortrain::config
