#pragma once

#include <variant>

namespace mirrortrain::config {

/// A std::variant of many alternatives whose copies and assignments are compiled once instead of in every file that
/// copies one: they grow with the square of the number of alternatives, for a hundred to ten seconds of the compiler's
/// time. The header of such a type declares `extern template class config::CompiledOnce<Variant>`, and one file
/// instantiates it.
template <class Variant>
class CompiledOnce : public Variant {
 public:
  using Variant::Variant;
  CompiledOnce();
  CompiledOnce(const CompiledOnce&);
  CompiledOnce(CompiledOnce&&) noexcept;
  CompiledOnce& operator=(const CompiledOnce&);
  CompiledOnce& operator=(CompiledOnce&&) noexcept;
  ~CompiledOnce();
};

// Not inline: an inline function would be compiled wherever it is used, whatever `extern template` says.
template <class Variant>
CompiledOnce<Variant>::CompiledOnce() = default;
template <class Variant>
CompiledOnce<Variant>::CompiledOnce(const CompiledOnce&) = default;
template <class Variant>
CompiledOnce<Variant>::CompiledOnce(CompiledOnce&&) noexcept = default;
template <class Variant>
CompiledOnce<Variant>& CompiledOnce<Variant>::operator=(const CompiledOnce&) = default;
template <class Variant>
CompiledOnce<Variant>& CompiledOnce<Variant>::operator=(CompiledOnce&&) noexcept = default;
template <class Variant>
CompiledOnce<Variant>::~CompiledOnce() = default;

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
template <class Variant>
struct VariantOf<CompiledOnce<Variant>> : VariantOf<Variant> {};

template <class T>
concept AnyVariant = VariantOf<T>::kIsOne;

}  // namespace mirrortrain::config
