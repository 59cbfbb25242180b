#include "kernels/cuda/gather.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "data/reading/gather.h"
#include "kernels/storage.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using testing::in_each_geometry;
using testing::Storage;
using testing::stream_under_test;

namespace {

constexpr DType kTypes[] = {DType::kUint8,    DType::kInt32,   DType::kInt64,
                            DType::kBfloat16, DType::kFloat32, DType::kFloat64};
constexpr std::int64_t kRows = 12, kFirst = 2;

/// Small whole numbers, which every type holds; those of labels are not negative.
data::Array array_of(DType dtype, const Shape& row) {
  data::Array array(dtype, row.with_rows(kRows), "array");
  data::with_element_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    auto elements = array.span<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = T(static_cast<float>(i * 7 % 11));
  });
  return array;
}

/// What kernels read of a host's vector or array.
template <class T>
struct Copied {
  Storage memory;
  explicit Copied(std::span<const T> from) : memory(from.size_bytes()) {
    if (!from.empty()) std::memcpy(memory.data(), from.data(), from.size_bytes());
  }
  const T* data() const { return reinterpret_cast<const T*>(memory.data()); }
};
struct CopiedRows {
  Copied<std::byte> bytes;
  DeviceRows rows;
  explicit CopiedRows(const data::Array& array)
      : bytes(std::span<const std::byte>(array.bytes.data(), array.bytes.size())),
        rows{bytes.data(), array.dtype, array.row_elements(), array.row_elements()} {}
};
struct CopiedAffine {
  Copied<double> shift, scale, offset;
  DeviceAffine affine;
  CopiedAffine(const data::Affine& from, bool identity)
      : shift(from.shift),
        scale(from.scale),
        offset(from.offset),
        affine{shift.data(), scale.data(), offset.data(), static_cast<std::int64_t>(from.period()), identity} {}
};

/// Rows in any order, one of them twice; or none.
const std::vector<std::int64_t> kChoices[] = {{3, 0, 9, 3, 7}, {5}, {}};

/// Elements of `dtype` as double.
std::vector<double> values(const Storage& storage, DType dtype, std::int64_t count) {
  CHECK(storage.intact());
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    data::with_element_type(dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      result.push_back(static_cast<double>(reinterpret_cast<const T*>(storage.data())[i]));
    });
  }
  return result;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])))) {
      FAIL_CHECK("element ", i, " is ", found[i], ", expected ", expected[i]);
    }
  }
}

}  // namespace

TEST_CASE("rows gathered on a device are the host's, for every type and length of a row") {
  Stream& stream = stream_under_test();
  const data::Affine affines[] = {{}, {{3.0}, {0.125}, {-1.0}}, {{0.5, 1.0, 2.0}, {2.0, 3.0, 0.1}, {0.0, 7.0, -1.5}}};
  for (const DType from : kTypes) {
    for (const DType to : {DType::kFloat32, DType::kBfloat16}) {
      for (const data::Affine& affine : affines) {
        for (const Shape& row : {Shape{3}, Shape{8, 3}, Shape{5, 7, 3}}) {
          const data::Array array = array_of(from, row);
          const CopiedRows rows(array);
          const CopiedAffine there(affine, &affine == &affines[0]);
          for (const auto& chosen : kChoices) {
            const auto count = static_cast<std::int64_t>(chosen.size());
            const std::int64_t elements = count * row.elements();
            const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(to);
            const Storage expected(bytes), found(bytes);
            data::RowConverter(array, affine, to)(kFirst, chosen, expected.data());
            const Copied<std::int64_t> choice(chosen);
            in_each_geometry([&](std::int64_t) {
              DeviceBatch batch;
              batch.rows = {choice.data(), count, kFirst};
              batch.features = rows.rows;
              batch.affine = there.affine;
              batch.features_dtype = to;
              batch.features_to = found.data();
              cuda::gather(stream, batch);
              stream.synchronize();
              // Whether a product and a sum are rounded together may differ.
              check_near(values(found, to, elements), values(expected, to, elements),
                         to == DType::kFloat32 ? 3e-7 : 8e-3);
            });
          }
        }
      }
    }
  }
}

TEST_CASE("labels gathered on a device are the host's, also one-hot") {
  Stream& stream = stream_under_test();
  for (const DType from : kTypes) {
    for (const Shape& row : {Shape{}, Shape{1}, Shape{5}, Shape{2, 4}}) {
      const data::Array array = array_of(from, row);
      const CopiedRows rows(array);
      for (const auto& chosen : kChoices) {
        const auto count = static_cast<std::int64_t>(chosen.size());
        for (const std::int64_t depth : {0, 11}) {
          for (const DType to : {DType::kFloat32, DType::kInt32}) {
            if (depth > 0 && to == DType::kInt32) continue;
            const std::int64_t elements = count * row.elements() * std::max<std::int64_t>(1, depth);
            const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(to);
            const Storage expected(bytes), found(bytes);
            data::LabelConverter(array, to, depth)(kFirst, chosen, expected.data());
            const Copied<std::int64_t> choice(chosen);
            DeviceBatch batch;
            batch.rows = {choice.data(), count, kFirst};
            batch.labels = rows.rows;
            batch.labels_dtype = to;
            batch.one_hot_depth = depth;
            batch.labels_to = found.data();
            cuda::gather(stream, batch);
            stream.synchronize();
            CHECK(values(found, to, elements) == values(expected, to, elements));
          }
        }
      }
    }
  }
}

TEST_CASE("of each row the first elements are gathered where fewer are taken") {
  Stream& stream = stream_under_test();
  for (const DType from : kTypes) {
    for (const std::int64_t taken : {1, 4, 7, 8, 16}) {
      const data::Array array = array_of(from, {16});
      CopiedRows rows(array);
      rows.rows.taken = taken;
      const std::vector<std::int64_t>& chosen = kChoices[0];
      const std::int64_t elements = 5 * taken;
      const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
      const Storage expected(bytes), found(bytes), expected_classes(bytes), classes(bytes);
      data::RowConverter(array, {}, DType::kFloat32)(kFirst, chosen, expected.data(), taken);
      data::LabelConverter(array, DType::kInt32, 0)(kFirst, chosen, expected_classes.data(), taken);
      const Copied<std::int64_t> choice(chosen);
      DeviceBatch batch;
      batch.rows = {choice.data(), 5, kFirst};
      batch.features = batch.labels = rows.rows;
      batch.affine.identity = true;
      batch.features_to = found.data();
      batch.labels_dtype = DType::kInt32;
      batch.labels_to = classes.data();
      cuda::gather(stream, batch);
      stream.synchronize();
      CHECK(values(found, DType::kFloat32, elements) == values(expected, DType::kFloat32, elements));
      CHECK(values(classes, DType::kInt32, elements) == values(expected_classes, DType::kInt32, elements));
    }
  }
}

TEST_CASE("features, labels and copies are made together") {
  Stream& stream = stream_under_test();
  const data::Array features = array_of(DType::kUint8, {8, 3}), labels = array_of(DType::kInt64, {});
  const std::vector<std::int64_t> chosen = {3, 0, 9, 3, 7};
  const std::vector<double> numbers = {1, 2, 3, 4}, others = {5, 6};
  const data::Affine affine{{3.0}, {0.125}, {-1.0}};
  const Copied<std::int64_t> choice(chosen);
  const Copied<double> numbers_there(numbers), others_there(others);
  const CopiedRows features_there(features), labels_there(labels);
  const CopiedAffine affine_there(affine, false);
  in_each_geometry([&](std::int64_t) {
    const Storage rows(5 * 24 * 4), wanted_rows(5 * 24 * 4), classes(5 * 4), wanted_classes(5 * 4), first(4 * 8),
        second(2 * 8);
    data::RowConverter(features, affine, DType::kFloat32)(kFirst, chosen, wanted_rows.data());
    data::LabelConverter(labels, DType::kInt32, 0)(kFirst, chosen, wanted_classes.data());
    DeviceBatch batch;
    batch.rows = {choice.data(), 5, kFirst};
    batch.features = features_there.rows;
    batch.affine = affine_there.affine;
    batch.features_to = rows.data();
    batch.labels = labels_there.rows;
    batch.labels_dtype = DType::kInt32;
    batch.labels_to = classes.data();
    batch.copies = {SmallCopy{reinterpret_cast<const std::byte*>(numbers_there.data()), first.data(), 4 * 8},
                    SmallCopy{reinterpret_cast<const std::byte*>(others_there.data()), second.data(), 2 * 8}};
    cuda::gather(stream, batch);
    stream.synchronize();
    check_near(values(rows, DType::kFloat32, 5 * 24), values(wanted_rows, DType::kFloat32, 5 * 24), 3e-7);
    CHECK(classes.copy() == wanted_classes.copy());
    CHECK(values(first, DType::kFloat64, 4) == numbers);
    CHECK(values(second, DType::kFloat64, 2) == others);
    for (const Storage* storage : {&rows, &classes, &first, &second}) CHECK(storage->intact());
  });
}
