#include "collective/local/sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace mirrortrain::local {
namespace {

template <class T>
T* as(std::byte* data) {
  return reinterpret_cast<T*>(data);
}

/// A cache line of T: the widest vectors of the machine, or several of them.
template <class T>
struct Line {
  static constexpr std::size_t kElements = 64 / sizeof(T);
  typedef T Vector __attribute__((vector_size(64)));

  // Not returned by value: how wide vectors are returned depends on the machine.
  static void load(Vector& line, const T* from) { std::memcpy(&line, from, sizeof line); }
  static void add(Vector& line, const T* from) {
    Vector other;
    load(other, from);
    line += other;
  }
  static void store(T* to, const Vector& line) { std::memcpy(to, &line, sizeof line); }
};

template <class T>
void sum_elements(std::span<std::byte* const> from, std::span<std::byte* const> to, std::size_t begin,
                  std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    T total = as<T>(from[0])[i];
    for (std::byte* source : from.subspan(1)) total += as<T>(source)[i];
    for (std::byte* target : to) as<T>(target)[i] = total;
  }
}

template <class T>
void sum_two_in_place(T* a, T* b, std::size_t lines) {
  using L = Line<T>;
  for (std::size_t i = 0; i < lines; ++i, a += L::kElements, b += L::kElements) {
    typename L::Vector total;
    L::load(total, a);
    L::add(total, b);
    L::store(a, total);
    L::store(b, total);
  }
}

template <class T>
void sum_lines(std::span<std::byte* const> from, std::span<std::byte* const> to, std::size_t begin, std::size_t lines) {
  using L = Line<T>;
  // Several lines at a time, so that the walk over the sources is paid once for all of them.
  constexpr std::size_t kAtOnce = 4;
  std::size_t i = begin;
  const auto pass = [&]<std::size_t kLines>(std::integral_constant<std::size_t, kLines>) {
    typename L::Vector total[kLines];
    for (std::size_t line = 0; line < kLines; ++line) L::load(total[line], as<T>(from[0]) + i + line * L::kElements);
    for (std::byte* source : from.subspan(1)) {
      for (std::size_t line = 0; line < kLines; ++line) L::add(total[line], as<T>(source) + i + line * L::kElements);
    }
    for (std::byte* target : to) {
      for (std::size_t line = 0; line < kLines; ++line) L::store(as<T>(target) + i + line * L::kElements, total[line]);
    }
    i += kLines * L::kElements;
  };
  for (; lines >= kAtOnce; lines -= kAtOnce) pass(std::integral_constant<std::size_t, kAtOnce>());
  for (; lines > 0; --lines) pass(std::integral_constant<std::size_t, 1>());
}

template <class T>
void sum_as(std::span<std::byte* const> from, std::span<std::byte* const> to, Shard shard) {
  const std::size_t lines = shard.size() / Line<T>::kElements;
  if (from.size() == 2 && to.size() == 2 && from[0] == to[0] && from[1] == to[1]) {
    sum_two_in_place(as<T>(from[0]) + shard.begin, as<T>(from[1]) + shard.begin, lines);
  } else {
    sum_lines<T>(from, to, shard.begin, lines);
  }
  sum_elements<T>(from, to, shard.begin + lines * Line<T>::kElements, shard.end);
}

/// Leaves the sum in the first of the terms.
void sum_as_tree(DType dtype, std::span<std::byte* const> terms, Shard shard) {
  for (std::size_t distance = 1; distance < terms.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < terms.size(); i += 2 * distance) {
      add(dtype, terms[i], terms[i + distance], shard);
    }
  }
}

void accumulate(DType dtype, std::span<std::byte* const> terms, std::byte* accumulator, Shard shard) {
  for (std::byte* term : terms) {
    if (term != accumulator) add(dtype, accumulator, term, shard);
  }
}

}  // namespace

void sum(DType dtype, std::span<std::byte* const> from, std::span<std::byte* const> to, Shard shard) {
  switch (dtype) {
    case DType::kFloat32: return sum_as<float>(from, to, shard);
    case DType::kFloat64: return sum_as<double>(from, to, shard);
    case DType::kInt32: return sum_as<std::int32_t>(from, to, shard);
    case DType::kInt64: return sum_as<std::int64_t>(from, to, shard);
    default: throw Error(fmt::format("ranks cannot sum elements of type {}", name_of(dtype)));
  }
}

void add(DType dtype, std::byte* to, std::byte* from, Shard shard) {
  const std::array<std::byte*, 2> both = {from, to};
  sum(dtype, both, std::span(both).subspan(1), shard);
}

void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to,
             Shard shard) {
  if (method == AggregationMethod::kAddN) return sum(dtype, terms, to, shard);
  // Partial sums go through memory: block by block they stay in the nearest cache.
  constexpr std::size_t kBlock = 1024;
  for (Shard block{shard.begin, 0}; block.begin < shard.end; block.begin = block.end) {
    block.end = std::min(block.begin + kBlock, shard.end);
    const bool tree = method == AggregationMethod::kTree;
    std::byte* const total = tree ? terms[0] : to[0];
    if (tree) {
      sum_as_tree(dtype, terms, block);
    } else {
      accumulate(dtype, terms, total, block);
    }
    for (std::byte* target : to) {
      if (target != total) copy(dtype, target, total, block);
    }
  }
}

void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) {
  const std::size_t size = size_of(dtype), end = shard.end * size;
  std::size_t i = shard.begin * size;
  // Not one memcpy, whose stores pass the caches by from some megabytes on, although the copy is read at once.
  Line<std::int32_t>::Vector line[4];
  for (; i + sizeof line <= end; i += sizeof line) {
    for (std::size_t k = 0; k < 4; ++k) std::memcpy(&line[k], from + i + k * sizeof line[k], sizeof line[k]);
    for (std::size_t k = 0; k < 4; ++k) std::memcpy(to + i + k * sizeof line[k], &line[k], sizeof line[k]);
  }
  if (i < end) std::memcpy(to + i, from + i, end - i);
}

}  // namespace mirrortrain::local
