#include "kernels/cpu/onednn.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "kernels/cpu/versions.h"

namespace mirrortrain::cpu::onednn {
namespace {

void check(dnnl_status_t status) {
  if (status != dnnl_success) throw Error(fmt::format("oneDNN failed with status {}", static_cast<int>(status)));
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::data_type type_of(DType dtype) {
  if (dtype == DType::kFloat32) return dnnl::memory::data_type::f32;
  if (dtype == DType::kBfloat16) return dnnl::memory::data_type::bf16;
  throw Error(fmt::format("oneDNN kernels take float32 and bfloat16, found {}", name_of(dtype)));
}

namespace {

void append(std::string& text, const dnnl_dim_t* numbers, int count) {
  for (int i = 0; i < count; ++i) (text += std::to_string(numbers[i])) += ' ';
  text += "| ";
}

}  // namespace

bool has_tiles() {
  const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
  const unsigned tiles = bits(dnnl::cpu_isa::avx512_core_amx);
  return (bits(dnnl::get_effective_cpu_isa()) & tiles) == tiles;
}

#if DNNL_VERSION_MAJOR < 3
std::string key_of(const Desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  const dnnl_dim_t kinds[] = {data.data_type, static_cast<dnnl_dim_t>(data.extra.flags)};
  std::string key;
  append(key, kinds, 2);
  append(key, data.padded_dims, data.ndims);
  append(key, blocking.strides, data.ndims);
  append(key, blocking.inner_blks, blocking.inner_nblks);
  append(key, blocking.inner_idxs, blocking.inner_nblks);
  return key;
}
#else
std::string key_of(const Desc& desc) {
  std::string key = std::to_string(static_cast<int>(desc.get_data_type()));
  for (const Dims& part : {desc.get_padded_dims(), desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()}) {
    append(key, part.data(), static_cast<int>(part.size()));
  }
  return key;
}
#endif

TeamSize::TeamSize(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
TeamSize::~TeamSize() { omp_set_num_threads(before_); }

Primitive::Primitive(const dnnl::primitive& primitive, const std::vector<Argument>& arguments)
    : primitive_(primitive), stream_(engine()) {
  for (const auto& [argument, desc] : arguments) {
    memories_.emplace_back(desc, engine(), nullptr);
    arguments_.push_back({argument, memories_.back().get()});
  }
}

void Primitive::set(int argument, const void* data) {
  for (const dnnl_exec_arg_t& known : arguments_) {
    if (known.arg != argument) continue;
    void* before = nullptr;
    check(dnnl_memory_get_data_handle(known.memory, &before));
    // 2.6 zeroes the padding of blocked memory at each change.
    if (before != data) check(dnnl_memory_set_data_handle(known.memory, const_cast<void*>(data)));
  }
}

void Primitive::run() {
  check(
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()));
}

Primitive make_reorder(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc reorder(engine(), from, engine(), to);
  return {dnnl::reorder(reorder), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

DerivedForm derived_form(const Desc& from, const Desc& to, int threads) {
  const TeamSize team(threads);
  const auto reorder = std::make_shared<Primitive>(make_reorder(from, to));
  return {"onednn " + key_of(to), to.get_size(),
          [reorder, threads](Stream&, const TensorView& canonical, std::byte* copy) {
            const TeamSize refreshing(threads);
            reorder->set(DNNL_ARG_FROM, canonical.data);
            reorder->set(DNNL_ARG_TO, copy);
            reorder->run();
          }};
}

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops operations;
#if DNNL_VERSION_MAJOR < 3
    operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#else
    operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#endif
    result.set_post_ops(operations);
  }
  return result;
}

namespace {

constexpr auto kTraining = dnnl::prop_kind::forward_training;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// 2.6 first creates a description from the parts, 3.x accepts the parts.
template <class Made, class... Parts>
typename Made::primitive_desc describe(bool relu, const Parts&... parts) {
#if DNNL_VERSION_MAJOR < 3
  return typename Made::primitive_desc(typename Made::desc(parts...), attributes(relu), engine(), true);
#else
  return typename Made::primitive_desc(engine(), parts..., attributes(relu), true);
#endif
}

/// As `describe`; a gradient also needs a forward implementation as a hint.
template <class Made, class Hint, class... Parts>
typename Made::primitive_desc describe_gradient(const Hint& hint, const Parts&... parts) {
  if (!hint.get(true)) return {};
#if DNNL_VERSION_MAJOR < 3
  return typename Made::primitive_desc(typename Made::desc(parts...), attributes(), engine(), hint, true);
#else
  return typename Made::primitive_desc(engine(), parts..., hint, attributes(), true);
#endif
}

auto describe_forward(const InnerProduct& p, bool relu) {
  return describe<dnnl::inner_product_forward>(relu, kTraining, p.source, p.weights, p.bias, p.destination);
}

auto describe_forward(const Convolution& p, bool relu) {
  return describe<dnnl::convolution_forward>(relu, kTraining, kDirect, p.source, p.weights, p.bias, p.destination,
                                             p.strides, p.dilation, p.pad_before, p.pad_after);
}

/// Converting to float32 is faster than oneDNN's reference loops.
template <class Problem, class Described>
Described unless_slow(const Problem& problem, Described described) {
  if (problem.dtype != DType::kBfloat16 || !described.get(true)) return described;
  const std::string implementation = described.impl_info_str();
  return implementation.rfind("ref", 0) == 0 ? Described{} : described;
}

}  // namespace

dnnl::inner_product_forward::primitive_desc forward(const InnerProduct& p, bool relu) {
  return unless_slow(p, describe_forward(p, relu));
}

dnnl::inner_product_backward_data::primitive_desc input_gradient(const InnerProduct& p) {
  return unless_slow(p, describe_gradient<dnnl::inner_product_backward_data>(describe_forward(p, false), p.source,
                                                                             p.weights, p.destination));
}

dnnl::inner_product_backward_weights::primitive_desc weight_gradient(const InnerProduct& p) {
  return unless_slow(p, describe_gradient<dnnl::inner_product_backward_weights>(
                            describe_forward(p, false), p.source, p.weight_gradient, p.bias, p.destination));
}

dnnl::convolution_forward::primitive_desc forward(const Convolution& p, bool relu) {
  return unless_slow(p, describe_forward(p, relu));
}

dnnl::convolution_backward_data::primitive_desc input_gradient(const Convolution& p) {
  return unless_slow(p, describe_gradient<dnnl::convolution_backward_data>(
                            describe_forward(p, false), kDirect, p.source, p.weights, p.destination, p.strides,
                            p.dilation, p.pad_before, p.pad_after));
}

dnnl::convolution_backward_weights::primitive_desc weight_gradient(const Convolution& p) {
  return unless_slow(p, describe_gradient<dnnl::convolution_backward_weights>(
                            describe_forward(p, false), kDirect, p.source, p.weight_gradient, p.bias, p.destination,
                            p.strides, p.dilation, p.pad_before, p.pad_after));
}

}  // namespace mirrortrain::cpu::onednn

namespace mirrortrain::cpu {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace mirrortrain::cpu
