#include "base/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/files.h"
#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

template <class T>
NamedTensor tensor_of(std::string name, Shape shape, const std::vector<T>& elements) {
  return {std::move(name), kDTypeOf<T>, std::move(shape), std::as_bytes(std::span(elements))};
}

/// What reading a file of this header and data says.
std::string reading(const std::string& header, const std::string& data = "", std::uint64_t length = 0) {
  const TemporaryFolder folder;
  if (length == 0) length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  write_file(folder / "x.safetensors", bytes + header + data);
  const std::string text = error_text([&] { read_safetensors(folder / "x.safetensors"); });
  const std::string place = (folder / "x.safetensors").string() + ": ";
  return text.starts_with(place) ? text.substr(place.size()) : text;
}

}  // namespace

TEST_CASE("half precision is read as float32, and booleans as bytes") {
  const TemporaryFolder folder;
  const std::string header = R"({"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},)"
                             R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[6,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  write_file(folder / "x.safetensors", bytes + header + std::string("\0\x3c\0\xc1\1\0\1\0", 8));
  const StoredTensors tensors = read_safetensors(folder / "x.safetensors");
  CHECK(tensors.at("h").dtype == DType::kFloat32);
  CHECK(std::ranges::equal(tensors.at("h").span<float>(), std::vector<float>{1.0f, -2.5f, 5.9604645e-8f}));
  CHECK(std::ranges::equal(tensors.at("b").span<std::uint8_t>(), std::vector<std::uint8_t>{1, 0}));
}

TEST_CASE("tensors of every type read back by name") {
  const std::vector<float> f32{1.5f, -2.0f, 0.25f};
  const std::vector<double> f64{3.14159265358979};
  const std::vector<std::int32_t> i32{-1, 2, 3, 4};
  const std::vector<std::int64_t> i64{INT64_MIN, INT64_MAX};
  const std::vector<bfloat16> bf16{bfloat16(1.0f), bfloat16(-3.0f)};
  const std::vector<std::uint8_t> u8{1, 2, 255};
  const std::vector<float> none;
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {tensor_of("u8", {3}, u8), tensor_of("z/kernel", {3, 1}, f32),
                                   tensor_of("f64", {}, f64), tensor_of("i32", {2, 2}, i32), tensor_of("i64", {2}, i64),
                                   tensor_of("bf16", {1, 2}, bf16), tensor_of("empty", {0, 5}, none)});
  const StoredTensors read = read_safetensors(folder / "a");
  REQUIRE(read.size() == 7);
  CHECK(read.at("z/kernel").shape == Shape{3, 1});
  CHECK(std::ranges::equal(read.at("z/kernel").span<float>(), f32));
  CHECK(read.at("f64").shape == Shape{});
  CHECK(read.at("f64").span<double>()[0] == f64[0]);
  CHECK(std::ranges::equal(read.at("i32").span<std::int32_t>(), i32));
  CHECK(std::ranges::equal(read.at("i64").span<std::int64_t>(), i64));
  CHECK(read.at("bf16").dtype == DType::kBfloat16);
  CHECK(float(read.at("bf16").span<bfloat16>()[1]) == -3.0f);
  CHECK(std::ranges::equal(read.at("u8").span<std::uint8_t>(), u8));
  CHECK(read.at("empty").shape == Shape{0, 5});
}

TEST_CASE("the same tensors in any order give the same bytes, sorted by name") {
  const std::vector<float> a{1, 2}, b{3};
  const TemporaryFolder folder;
  const std::uint32_t one = write_safetensors(folder / "1", {tensor_of("a", {2}, a), tensor_of("b", {1}, b)});
  const std::uint32_t two = write_safetensors(folder / "2", {tensor_of("b", {1}, b), tensor_of("a", {2}, a)});
  const std::vector<std::byte> bytes = read_file(folder / "1");
  CHECK(bytes == read_file(folder / "2"));
  CHECK(one == two);
  CHECK(one == crc32_of(bytes));
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  CHECK(read_text_file(folder / "1").substr(8, header.size()) == header);
  CHECK((bytes.size() - 12) % 8 == 0);
}

TEST_CASE("tensors written one by one, in any order, give the same file, and can be read one by one") {
  const std::vector<float> a{1, 2}, b{3};
  const std::vector<std::int64_t> wide{7};
  const std::vector<float> none;
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{tensor_of("a", {2}, a), tensor_of("b", {1}, b), tensor_of("wide", {1}, wide),
                                         tensor_of("none", {0}, none)};
  const std::uint32_t whole = write_safetensors(folder / "whole", tensors);
  for (const auto& order : {std::vector{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 0, 3}}) {
    SafetensorsWriter writer(folder / "parts", {{"b", DType::kFloat32, {1}},
                                                {"wide", DType::kInt64, {1}},
                                                {"none", DType::kFloat32, {0}},
                                                {"a", DType::kFloat32, {2}}});
    for (const int number : order) {
      CHECK(contains(error_text([&] { writer.commit(); }), "is missing"));
      const NamedTensor& tensor = tensors[static_cast<std::size_t>(number)];
      writer.write(tensor.name, tensor.data);
      CHECK(contains(error_text([&] { writer.write(tensor.name, tensor.data); }), "two tensors are named"));
    }
    CHECK(contains(error_text([&] { writer.write("c", {}); }), "'c' was not announced"));
    CHECK(writer.commit() == whole);
    CHECK(read_file(folder / "parts") == read_file(folder / "whole"));
    std::filesystem::remove(folder / "parts");
  }
  const SafetensorsFile file(folder / "whole");
  CHECK(file.crc32() == whole);
  CHECK(file.tensors().size() == 4);
  CHECK(file.tensors().at("a").shape == Shape{2});
  CHECK(std::ranges::equal(file.read("wide").span<std::int64_t>(), wide));
  CHECK(std::ranges::equal(file.read("a").span<float>(), a));
  CHECK(contains(error_text([&] { file.read("c"); }), "there is no tensor"));
}

TEST_CASE("a tensor's bytes can come in pieces, between those of others") {
  const std::vector<float> a{1, 2, 3}, b{4, 5};
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{tensor_of("a", {3}, a), tensor_of("b", {2}, b)};
  const std::uint32_t whole = write_safetensors(folder / "whole", tensors);
  // Each: the tensor, and how many elements of it come next.
  using Order = std::vector<std::pair<std::size_t, std::size_t>>;
  for (const Order& order : {Order{{0, 1}, {0, 2}, {1, 1}, {1, 1}}, Order{{1, 1}, {0, 2}, {1, 1}, {0, 1}},
                             Order{{0, 2}, {1, 2}, {0, 1}}, Order{{1, 2}, {0, 3}}}) {
    SafetensorsWriter writer(folder / "parts", {{"a", DType::kFloat32, {3}}, {"b", DType::kFloat32, {2}}});
    std::size_t done[] = {0, 0};
    for (const auto& [number, count] : order) {
      CHECK(contains(error_text([&] { writer.commit(); }), "is missing"));
      const NamedTensor& tensor = tensors[number];
      writer.append(tensor.name, tensor.data.subspan(done[number] * sizeof(float), count * sizeof(float)));
      done[number] += count;
    }
    CHECK(contains(error_text([&] { writer.append("a", tensors[1].data); }), "'a' of [3] has more than 12 bytes"));
    CHECK(writer.commit() == whole);
    CHECK(read_file(folder / "parts") == read_file(folder / "whole"));
    std::filesystem::remove(folder / "parts");
  }
}

TEST_CASE("a file without tensors is sound") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {});
  CHECK(read_safetensors(folder / "a").empty());
  CHECK(reading("{}") == "no error");
  CHECK(reading(R"({"__metadata__":{"format":"pt"}}   )") == "no error");
}

TEST_CASE("tensors that do not fit are not written") {
  const std::vector<float> a{1, 2};
  const TemporaryFolder folder;
  const auto writing = [&](std::vector<NamedTensor> tensors) {
    return error_text([&] { write_safetensors(folder / "a", std::move(tensors)); });
  };
  CHECK(contains(writing({tensor_of("x", {3}, a)}), "tensor 'x' of [3] has 8 bytes"));
  CHECK(contains(writing({tensor_of("x", {2}, a), tensor_of("x", {2}, a)}), "two tensors are named 'x'"));
  CHECK(!std::filesystem::exists(folder / "a"));
}

TEST_CASE("damaged files are refused with the tensor's name") {
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(reading("{" + x + "}", "12345678") == "no error");

  CHECK(contains(reading("{" + x + "}", "1234567"), "tensor \"x\": ends at byte 8, but 7 bytes follow the header"));
  CHECK(contains(reading("{" + x + "}", "123456789"), "1 bytes follow the last tensor"));
  CHECK(contains(reading("{" + x + "," + x + "}", "12345678"), "\"x\" is listed twice"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678"),
                 "\"dtype\" is listed twice"));
  CHECK(contains(reading("{" + x + R"(,"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", "123456781234"),
                 "tensor \"y\": begins at byte 4 where 8 was expected"));
  CHECK(contains(reading("{" + x + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", "1234567812345678"),
                 "tensor \"y\": begins at byte 12 where 8 was expected"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"),
                 "tensor \"x\": 8 bytes do not hold [3] of type F32"));
  CHECK(contains(reading(R"({"x":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", "12345678"),
                 "has elements of type \"F8_E4M3\"; convert weights to F32"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})"),
                 "do not hold"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678"),
                 "whole numbers from 0"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678"), "not [begin, end]"));
  CHECK(contains(reading(R"({"x":{"dtype":"F32","shape":[2]}})", "12345678"), "gives no data_offsets"));
  CHECK(contains(reading(R"({"x":7})"), "gives no dtype"));
  CHECK(contains(reading("[1]"), "not a JSON object"));
  CHECK(contains(reading("{nonsense"), "not JSON"));
  CHECK(contains(reading("{\"\xff\":1}"), "not JSON"));
}

TEST_CASE("headers that lie about their length or nest indefinitely are refused") {
  CHECK(contains(reading("{}", "", 1000), "says 1000 bytes long, but 2 follow"));
  CHECK(contains(reading("{}", "", ~std::uint64_t{0}), "but 2 follow"));
  CHECK(contains(reading(std::string(17 << 20, ' ')), "the most is"));
  CHECK(contains(reading(std::string(1 << 20, '[')), "nests too deep"));
  const TemporaryFolder folder;
  write_file(folder / "short", "1234");
  CHECK(contains(error_text([&] { read_safetensors(folder / "short"); }), "it has 4 bytes"));
  CHECK(error_text([&] { read_safetensors(folder / "none"); }) ==
        "cannot read " + (folder / "none").string() + ": No such file or directory");
  CHECK(contains(error_text([&] { read_safetensors(folder.path()); }), "Is a directory"));
}

TEST_CASE("tensors behind an odd header come out aligned") {
  const TemporaryFolder folder;
  std::string header = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )";
  while (header.size() % 4 != 1) header += ' ';
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  const float value = 2.5f;
  write_file(folder / "a", bytes + header + std::string(reinterpret_cast<const char*>(&value), 4));
  const StoredTensors read = read_safetensors(folder / "a");
  CHECK(reinterpret_cast<std::uintptr_t>(read.at("x").data.data()) % 8 == 0);
  CHECK(read.at("x").span<float>()[0] == 2.5f);
}
