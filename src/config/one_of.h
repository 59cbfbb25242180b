#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace mirrortrain::config {

/// A list of types. What derives from it gives the list a short name.
template <class... Ts>
struct Types {};

namespace detail {

/// What can be done with a value whose type is not known.
struct HeldType {
  void (*make)(void* place);
  void (*copy)(const void* from, void* place);
  void (*move)(void* from, void* place) noexcept;
  void (*destroy)(void* held) noexcept;
};

template <class T>
struct Held {
  static void make(void* place) { std::construct_at(static_cast<T*>(place)); }
  static void copy(const void* from, void* place) {
    std::construct_at(static_cast<T*>(place), *static_cast<const T*>(from));
  }
  static void move(void* from, void* place) noexcept {
    std::construct_at(static_cast<T*>(place), std::move(*static_cast<T*>(from)));
  }
  static void destroy(void* held) noexcept { std::destroy_at(static_cast<T*>(held)); }
};

template <class T>
inline constexpr HeldType kHeldType{&Held<T>::make, &Held<T>::copy, &Held<T>::move, &Held<T>::destroy};

// What follows is consteval: a function with a long list among its parameters has a name of thousands of characters.
template <class... Ts>
consteval std::array<const HeldType*, sizeof...(Ts)> held_types(const Types<Ts...>*) {
  return {&kHeldType<Ts>...};
}
template <class... Ts>
consteval std::size_t size_of_largest(const Types<Ts...>*) {
  return std::max({sizeof(Ts)...});
}
template <class... Ts>
consteval std::size_t strictest_alignment(const Types<Ts...>*) {
  return std::max({alignof(Ts)...});
}
template <class T, class... Ts>
consteval bool is_listed(const Types<Ts...>*) {
  return (std::same_as<T, Ts> || ...);
}
template <class First, class... Others>
First first_of(const Types<First, Others...>*);

template <class List>
inline constexpr const List* kList = nullptr;

struct Choice;
template <class Variant>
const Choice& choice_of();

}  // namespace detail

/// A value of one of many types. It is used like a std::variant, which takes the longer to compile the more types it
/// has: for a hundred, ten times as long as this. A choice is a class of its own, so that its list of types, two
/// thousand characters for a hundred, is not a part of the name of every function that is made for the choice:
///
///   struct Shapes : config::Types<Circle, Square> {};
///   struct Shape : config::OneOf<Shapes> {
///     using OneOf::OneOf;
///   };
///
/// Its header declares, and one file instantiates, what would else be compiled in every file that uses one:
///
///   extern template class mirrortrain::config::OneOf<mirrortrain::Shapes>;
///   extern template const Choice& mirrortrain::config::detail::choice_of<mirrortrain::Shape>();
///
/// of which the latter, how it is read and written (config/choice.h), comes after its ChoiceTag.
template <class TypesListed>
class OneOf {
 public:
  using List = TypesListed;

  /// Holds the first type's default.
  OneOf();
  template <class T>
  requires(detail::is_listed<T>(detail::kList<List>)) OneOf(T value) : OneOf(detail::kHeldType<T>, &value) {}
  OneOf(const OneOf&);
  OneOf(OneOf&&) noexcept;
  OneOf& operator=(const OneOf&);
  OneOf& operator=(OneOf&&) noexcept;
  ~OneOf();

  /// The place of the type in the list.
  std::size_t index() const { return index_; }

  /// Makes it hold the default of a type.
  void* emplace(std::size_t index);
  template <class T>
  requires(detail::is_listed<T>(detail::kList<List>)) T& emplace() {
    *this = OneOf(T{});
    return *static_cast<T*>(held());
  }

  void* held() { return place_; }
  const void* held() const { return place_; }

  template <class T>
  bool holds() const {
    static_assert(detail::is_listed<T>(detail::kList<List>));
    return kHeld[index_] == &detail::kHeldType<T>;
  }

 private:
  static constexpr auto kHeld = detail::held_types(detail::kList<List>);
  static_assert(kHeld.size() <= 256);  // as index_ can say

  explicit OneOf(std::size_t index);  ///< holds the default of that type
  OneOf(const detail::HeldType& type, void* moved);

  alignas(
      detail::strictest_alignment(detail::kList<List>)) std::byte place_[detail::size_of_largest(detail::kList<List>)];
  std::uint8_t index_ = 0;
};

template <class T, class List>
bool holds_alternative(const OneOf<List>& choice) {
  return choice.template holds<T>();
}
/// Null where it holds another type.
template <class T, class List>
T* get_if(OneOf<List>* choice) {
  return choice->template holds<T>() ? static_cast<T*>(choice->held()) : nullptr;
}
template <class T, class List>
const T* get_if(const OneOf<List>* choice) {
  return choice->template holds<T>() ? static_cast<const T*>(choice->held()) : nullptr;
}
/// Throws std::bad_variant_access where it holds another type.
template <class T, class List>
const T& get(const OneOf<List>& choice) {
  if (!choice.template holds<T>()) throw std::bad_variant_access();
  return *static_cast<const T*>(choice.held());
}
template <class T, class List>
T& get(OneOf<List>& choice) {
  return const_cast<T&>(get<T>(std::as_const(choice)));
}

namespace detail {

template <class T, class Result, class Function, class Choice>
Result call_with(Function& function, Choice& choice) {
  using Wanted = std::conditional_t<std::is_const_v<Choice>, const T, T>;
  return function(*static_cast<Wanted*>(choice.held()));
}

template <class Result, class Function, class Choice>
struct Calls {
  template <class... Ts>
  static consteval std::array<Result (*)(Function&, Choice&), sizeof...(Ts)> with(const Types<Ts...>*) {
    return {&call_with<Ts, Result, Function, Choice>...};
  }
  static constexpr auto kWith = with(kList<typename Choice::List>);
};

}  // namespace detail

/// The types that a std::variant or a OneOf may hold, as a null pointer to their list.
template <class T>
struct ListOf {};
template <class... Ts>
struct ListOf<std::variant<Ts...>> {
  static constexpr const std::variant<Ts...>* kPointer = nullptr;
};
template <class T>
requires requires { typename T::List; }
struct ListOf<T> {
  static constexpr const typename T::List* kPointer = nullptr;
};

template <class T>
concept AnyVariant = requires {
  ListOf<T>::kPointer;
};

/// std::visit for such a choice, or for a std::variant.
template <class Function, class Choice>
decltype(auto) visit(Function&& function, Choice& choice) {
  if constexpr (requires { typename Choice::List; }) {
    using First = decltype(detail::first_of(detail::kList<typename Choice::List>));
    using Result = decltype(function(std::declval<std::conditional_t<std::is_const_v<Choice>, const First, First>&>()));
    return detail::Calls<Result, std::remove_reference_t<Function>, Choice>::kWith[choice.index()](function, choice);
  } else {
    return std::visit(std::forward<Function>(function), choice);
  }
}

// Not inline: an inline function would be compiled wherever it is used, whatever `extern template` says.
template <class List>
OneOf<List>::OneOf() : OneOf(std::size_t{0}) {}
template <class List>
OneOf<List>::OneOf(std::size_t index) : index_(static_cast<std::uint8_t>(index)) {
  kHeld[index_]->make(place_);
}
template <class List>
OneOf<List>::OneOf(const detail::HeldType& type, void* moved)
    : index_(static_cast<std::uint8_t>(std::ranges::find(kHeld, &type) - kHeld.begin())) {
  type.move(moved, place_);
}
template <class List>
OneOf<List>::OneOf(const OneOf& other) : index_(other.index_) {
  kHeld[index_]->copy(other.place_, place_);
}
template <class List>
OneOf<List>::OneOf(OneOf&& other) noexcept : index_(other.index_) {
  kHeld[index_]->move(other.place_, place_);
}
template <class List>
OneOf<List>& OneOf<List>::operator=(const OneOf& other) {
  return *this = OneOf(other);
}
template <class List>
OneOf<List>& OneOf<List>::operator=(OneOf&& other) noexcept {
  if (this == &other) return *this;
  kHeld[index_]->destroy(place_);
  index_ = other.index_;
  kHeld[index_]->move(other.place_, place_);
  return *this;
}
template <class List>
OneOf<List>::~OneOf() {
  kHeld[index_]->destroy(place_);
}
template <class List>
void* OneOf<List>::emplace(std::size_t index) {
  *this = OneOf(index);
  return place_;
}

}  // namespace mirrortrain::config
