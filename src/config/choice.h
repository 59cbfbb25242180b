#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/containers.h"
#include "config/erased_codec.h"
#include "config/one_of.h"

namespace mirrortrain::config {

/// How a std::variant (or OneOf) of option structs is written: specialize it for the variant.
///   tag      "type" | "format" | "schedule": `{type: circle, ...}`, `circle` and `{circle: {...}}` are all allowed;
///            left out where a list's items are only `{circle: {...}}` or `circle`
///   noun     "a shape", for messages
///   set_keeps_name  true where `--set` may not put another name in a list's item
///   remember(value, variant)  called first: keeps what other code needs of a value even if it cannot be read
///   advice   an array of Advice on names that no alternative has and that lead to none of them
/// An alternative is a struct with kName and section(); or, without kName, a plain value (a number) or a section that
/// is recognized by its keys. kAliases says what other programs call it, kAdvice what of theirs it stands for only with
/// certain options, as an array of Advice.
template <class Variant>
struct ChoiceTag {};

namespace detail {

/// Makes the variant hold the alternative of the index, and returns it.
using EmplaceAlternative = void*(void* variant, std::size_t index);
/// The alternative that a variant holds.
using HeldAlternative = const void*(const void* variant);

struct Alternative {
  std::string_view name;  ///< empty for a plain value
  std::string_view aliases;
  std::span<const Advice> advice;  ///< on other names
  const ErasedCodec* codec;
  EmplaceAlternative* emplace;
  HeldAlternative* held;

  bool accepts(const Value& value) const { return codec->accepts(value); }
  Value show(const void* variant) const { return codec->show(held(variant)); }
  Schema schema(const Rules& rules) const { return codec->schema(rules); }
  /// For a list: "write [x]" for a value that is not one.
  std::string list_hint(const Node& node) const { return codec->list_hint != nullptr ? codec->list_hint(node) : ""; }
};

struct Choice {
  std::string tag, noun;
  bool set_keeps_name = false;
  std::span<const Alternative> alternatives;
  std::vector<Advice> advice;  ///< that of the alternatives, too

  /// Reads an alternative into the variant.
  void read(const Alternative& alternative, const Node& node, void* variant) const {
    alternative.codec->read(node,
                            alternative.emplace(variant, static_cast<std::size_t>(&alternative - alternatives.data())));
  }
};

void read_choice(const Choice& choice, const Node& node, void* variant);
bool accepts_choice(const Choice& choice, const Value& value);
Value show_choice(const std::string& tag, std::string_view name, Value options);
Schema choice_schema(const Choice& choice, const Rules& rules);

// choice_errors.cpp: the errors of reading a choice.

/// The alternative of that name, or null.
const Alternative* find_named(const Choice& choice, std::string_view name);
std::vector<Name> names_of(const Choice& choice);
/// "shape" for a choice whose noun is "a shape".
std::string kind_of(const Choice& choice);
std::string words(const Choice& choice, const Node& node);

/// The alternative that a text was probably meant to name; "" if there is none.
std::string name_meant(const Choice& choice, const Value& value);
/// The error for a name that is not one of the choice's.
std::string refusal(const Choice& choice, const Node& node, const std::string& name);
/// "write validation: {fraction: 0.1}" for `validation: 0.1`, where only one key of a form without a name can be meant;
/// "" otherwise.
std::string as_plain_form(const Choice& choice, const Node& node);
/// Adds the error of an entry next to the name: an option in the wrong place, or another name.
void refuse_sibling(const Choice& choice, const Node& node, const std::string& name, const Value::Entry& entry);
/// Adds an error for each key that no alternative has. Returns whether one of them resembles the tag, or a key of a
/// form without a name: the alternative's name is then misspelled rather than missing.
bool refuse_unknown_keys(const Choice& choice, const Node& node);
/// Adds the error of a mapping in which a key `type` names an alternative, which should be
/// the key itself. Returns whether it is one.
bool refuse_type_key(const Choice& choice, const Node& node);
/// Adds the errors of a mapping that names no alternative.
void refuse_mapping(const Choice& choice, const Node& node);

template <class T>
constexpr std::string_view name_of_alternative() {
  if constexpr (requires { T::kName; }) {
    return T::kName;
  } else {
    return {};
  }
}

template <class T>
constexpr std::string_view aliases_of_alternative() {
  if constexpr (requires { T::kAliases; }) {
    return T::kAliases;
  } else {
    return {};
  }
}

template <class T>
constexpr std::span<const Advice> advice_of_alternative() {
  if constexpr (requires { T::kAdvice; }) {
    return T::kAdvice;
  } else {
    return {};
  }
}

template <class Variant, class T>
void* emplace(void* variant, std::size_t) {
  return &static_cast<Variant*>(variant)->template emplace<T>();
}

template <class Variant, class T>
const void* held(const void* variant) {
  return std::get_if<T>(static_cast<const Variant*>(variant));
}

template <class Choice>
void* emplace_one(void* choice, std::size_t index) {
  return static_cast<Choice*>(choice)->emplace(index);
}

template <class Choice>
const void* held_by(const void* choice) {
  return static_cast<const Choice*>(choice)->held();
}

template <class T>
constexpr Alternative alternative(EmplaceAlternative* emplace, HeldAlternative* held) {
  return {name_of_alternative<T>(),
          aliases_of_alternative<T>(),
          advice_of_alternative<T>(),
          &kErasedCodec<T>,
          emplace,
          held};
}

template <class Variant, class... Ts>
consteval std::array<Alternative, sizeof...(Ts)> alternatives(const std::variant<Ts...>*) {
  return {alternative<Ts>(&emplace<Variant, Ts>, &held<Variant, Ts>)...};
}
template <class Choice, class... Ts>
consteval std::array<Alternative, sizeof...(Ts)> alternatives(const Types<Ts...>*) {
  return {alternative<Ts>(&emplace_one<Choice>, &held_by<Choice>)...};
}

template <class Variant>
inline constexpr auto kAlternatives = alternatives<Variant>(ListOf<Variant>::kPointer);

/// Adds the alternatives, with the advice of each.
void add_alternatives(Choice& choice, std::span<const Alternative> alternatives);

template <class Variant>
Choice make_choice() {
  Choice choice;
  if constexpr (requires { ChoiceTag<Variant>::tag; }) choice.tag = ChoiceTag<Variant>::tag;
  if constexpr (requires { ChoiceTag<Variant>::noun; }) choice.noun = ChoiceTag<Variant>::noun;
  if constexpr (requires { ChoiceTag<Variant>::set_keeps_name; }) {
    choice.set_keeps_name = ChoiceTag<Variant>::set_keeps_name;
  }
  add_alternatives(choice, kAlternatives<Variant>);
  if constexpr (requires { ChoiceTag<Variant>::advice; }) {
    choice.advice.insert(choice.advice.end(), ChoiceTag<Variant>::advice.begin(), ChoiceTag<Variant>::advice.end());
  }
  return choice;
}

/// A choice of many alternatives has `extern template const Choice& choice_of<Layer>()` in its header and one file that
/// instantiates it, as OneOf.
template <class Variant>
const Choice& choice_of() {
  static const Choice choice = make_choice<Variant>();
  return choice;
}

}  // namespace detail

/// The names of a choice's alternatives.
template <class Variant>
std::vector<Name> names_of_choice() {
  return detail::names_of(detail::choice_of<Variant>());
}

template <AnyVariant Variant>
struct Codec<Variant> {
  static bool accepts(const Value& value) { return detail::accepts_choice(detail::choice_of<Variant>(), value); }
  static void read(const Node& node, Variant& out) {
    if constexpr (requires { ChoiceTag<Variant>::remember(node.value(), out); }) {
      ChoiceTag<Variant>::remember(node.value(), out);
    }
    detail::read_choice(detail::choice_of<Variant>(), node, &out);
  }
  /// What a list's item without brackets was probably meant to be, or "".
  static std::string meant(const Value& item) { return detail::name_meant(detail::choice_of<Variant>(), item); }
  static Value show(const Variant& value) {
    const auto& choice = detail::choice_of<Variant>();
    const detail::Alternative& held = choice.alternatives[value.index()];
    return detail::show_choice(choice.tag, held.name, held.show(&value));
  }
  static Schema schema(const Rules& rules) { return detail::choice_schema(detail::choice_of<Variant>(), rules); }
  /// A choice's place is that of its key; without a tag the name is part of the path.
  static void locate(const Node& node, const Variant& value, Place& place, std::string& path) {
    const auto& choice = detail::choice_of<Variant>();
    const std::string_view name = choice.alternatives[value.index()].name;
    if (!name.empty()) place = node.section_place();
    if (!name.empty() && choice.tag.empty()) path.append(".").append(name);
  }
};

}  // namespace mirrortrain::config
