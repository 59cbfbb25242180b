#include "kernels/cpu/onednn_kernel.h"

#include "kernels/cpu/loops.h"
#include "kernels/cpu/parallel.h"

namespace mirrortrain::cpu::onednn {
namespace {

bool is_empty(const Desc& desc) { return desc == Desc(); }

/// A primitive that reads (a form of) the weights: inputs `source`, weights, bias; output `destination`.
class WeightReader : public Kernel {
 public:
  struct Names {
    int source, destination;  ///< DNNL_ARG_SRC, ...
  };

  WeightReader(const dnnl::primitive& primitive, const Desc& scratchpad, const Desc& source, const Desc& weights,
               const Desc& bias, const Desc& destination, const Desc& canonical, Names names, ops::ActivationKind after,
               int threads)
      : names_(names), scratchpad_bytes_(scratchpad.get_size()), after_(after), threads_(threads) {
    std::vector<Primitive::Argument> arguments{{names.source, source},
                                               {DNNL_ARG_WEIGHTS, weights},
                                               {names.destination, destination},
                                               {DNNL_ARG_SCRATCHPAD, scratchpad}};
    if (!is_empty(bias)) arguments.push_back({DNNL_ARG_BIAS, bias});
    primitive_ = Primitive(primitive, arguments);
    if (weights != canonical) form_ = onednn::derived_form(canonical, weights, threads);
  }

  std::size_t workspace_bytes() const override { return scratchpad_bytes_; }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? form_ : std::nullopt;
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    const TeamSize team(threads_);
    primitive_.set(names_.source, args.inputs[0].data);
    primitive_.set(DNNL_ARG_WEIGHTS, args.inputs[1].data);
    if (args.inputs.size() > 2) primitive_.set(DNNL_ARG_BIAS, args.inputs[2].data);
    primitive_.set(names_.destination, args.outputs[0].data);
    primitive_.set(DNNL_ARG_SCRATCHPAD, args.workspace);
    primitive_.run();
    activate(after_, args.outputs[0], threads_);
  }

 private:
  Names names_;
  std::size_t scratchpad_bytes_;
  ops::ActivationKind after_;
  int threads_;
  Primitive primitive_;
  std::optional<DerivedForm> form_;
};

/// The gradient of weights and bias; a reorder converts it from the primitive's own layout.
class WeightWriter : public Kernel {
 public:
  WeightWriter(const dnnl::primitive& primitive, const Desc& scratchpad, const Desc& source, const Desc& weights,
               const Desc& bias, const Desc& destination, const Desc& canonical, int threads)
      : threads_(threads) {
    std::vector<Primitive::Argument> arguments{{DNNL_ARG_SRC, source},
                                               {DNNL_ARG_DIFF_WEIGHTS, weights},
                                               {DNNL_ARG_DIFF_DST, destination},
                                               {DNNL_ARG_SCRATCHPAD, scratchpad}};
    if (!is_empty(bias)) arguments.push_back({DNNL_ARG_DIFF_BIAS, bias});
    primitive_ = Primitive(primitive, arguments);
    if (weights != canonical) {
      to_canonical_ = make_reorder(weights, canonical);
      reorders_ = true;
    }
    scratchpad_ = workspace_.add(scratchpad.get_size());
    spare_weights_ = workspace_.add(weights.get_size());
    spare_bias_ = workspace_.add(bias.get_size());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const TeamSize team(threads_);
    std::byte* const canonical = args.outputs[0].data;
    std::byte* const weights = reorders_ || !canonical ? args.workspace + spare_weights_ : canonical;
    primitive_.set(DNNL_ARG_SRC, args.inputs[0].data);
    primitive_.set(DNNL_ARG_DIFF_DST, args.inputs[1].data);
    primitive_.set(DNNL_ARG_DIFF_WEIGHTS, weights);
    if (args.outputs.size() > 1) {
      std::byte* const bias = args.outputs[1].data;
      primitive_.set(DNNL_ARG_DIFF_BIAS, bias ? bias : args.workspace + spare_bias_);
    }
    primitive_.set(DNNL_ARG_SCRATCHPAD, args.workspace + scratchpad_);
    primitive_.run();
    if (reorders_ && canonical) {
      to_canonical_.set(DNNL_ARG_FROM, weights);
      to_canonical_.set(DNNL_ARG_TO, canonical);
      to_canonical_.run();
    }
  }

 private:
  int threads_;
  Primitive primitive_, to_canonical_;
  bool reorders_ = false;
  WorkspaceLayout workspace_;
  std::size_t scratchpad_, spare_weights_, spare_bias_;
};

constexpr auto kFloat = dnnl::memory::data_type::f32;

Desc bias_desc(bool with_bias, std::int64_t outputs) { return with_bias ? Desc({outputs}, kFloat, Tag::a) : Desc(); }

}  // namespace

template <class Problem>
std::unique_ptr<Kernel> make_forward(const Problem& problem, ops::ActivationKind activation, int threads) {
  const TeamSize team(threads);
  const bool relu = activation == ops::ActivationKind::kRelu;
  const auto described = forward(problem, relu);
  if (!described.get(true)) return nullptr;
  return std::make_unique<WeightReader>(dnnl::primitive(described), described.scratchpad_desc(), described.src_desc(),
                                        described.weights_desc(), described.bias_desc(), described.dst_desc(),
                                        problem.canonical, WeightReader::Names{DNNL_ARG_SRC, DNNL_ARG_DST},
                                        relu ? ops::ActivationKind::kLinear : activation, threads);
}

template <class Problem>
std::unique_ptr<Kernel> make_input_gradient(const Problem& problem, int threads) {
  const TeamSize team(threads);
  const auto described = input_gradient(problem);
  if (!described.get(true)) return nullptr;
  return std::make_unique<WeightReader>(
      dnnl::primitive(described), described.scratchpad_desc(), described.diff_dst_desc(), described.weights_desc(),
      Desc(), described.diff_src_desc(), problem.canonical, WeightReader::Names{DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
      ops::ActivationKind::kLinear, threads);
}

template <class Problem>
std::unique_ptr<Kernel> make_weight_gradient(const Problem& problem, int threads) {
  const TeamSize team(threads);
  const auto described = weight_gradient(problem);
  if (!described.get(true)) return nullptr;
  return std::make_unique<WeightWriter>(dnnl::primitive(described), described.scratchpad_desc(), described.src_desc(),
                                        described.diff_weights_desc(), described.diff_bias_desc(),
                                        described.diff_dst_desc(), problem.canonical, threads);
}

template std::unique_ptr<Kernel> make_forward(const InnerProduct&, ops::ActivationKind, int);
template std::unique_ptr<Kernel> make_forward(const Convolution&, ops::ActivationKind, int);
template std::unique_ptr<Kernel> make_input_gradient(const InnerProduct&, int);
template std::unique_ptr<Kernel> make_input_gradient(const Convolution&, int);
template std::unique_ptr<Kernel> make_weight_gradient(const InnerProduct&, int);
template std::unique_ptr<Kernel> make_weight_gradient(const Convolution&, int);

InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias) {
  const std::int64_t in = x.shape.back(), out = y.shape.back(), rows = x.elements() / in;
  const auto type = type_of(x.dtype);
  const Desc canonical({out, in}, kFloat, Tag::ba);
  return {.dtype = x.dtype,
          .source = {{rows, in}, type, Tag::ab},
          .weights = {{out, in}, type, Tag::any},
          .weight_gradient = canonical,
          .bias = bias_desc(with_bias, out),
          .destination = {{rows, out}, type, Tag::ab},
          .canonical = canonical};
}

template <std::size_t kAxes>
Convolution convolution(const ops::ConvAttributes<kAxes>& attributes, const TensorView& x, const Shape& kernel,
                        const TensorView& y, bool with_bias) {
  constexpr bool kIsVolume = kAxes == 3;
  const auto type = type_of(x.dtype);
  const auto images = [&](const Shape& shape) {
    Dims dims{shape[0], shape.back()};
    for (std::size_t axis = 1; axis <= kAxes; ++axis) dims.push_back(shape[axis]);
    return Desc(dims, type, kIsVolume ? Tag::ndhwc : Tag::nhwc);
  };
  const std::int64_t groups = attributes.groups;
  Dims weights{kernel.back() / groups, kernel[kAxes]};
  for (std::size_t axis = 0; axis < kAxes; ++axis) weights.push_back(kernel[axis]);
  if (groups > 1) weights.insert(weights.begin(), groups);
  const Tag whole = kIsVolume ? Tag::dhwio : Tag::hwio, grouped = kIsVolume ? Tag::dhwigo : Tag::hwigo;
  Convolution problem{.dtype = x.dtype,
                      .source = images(x.shape),
                      .weights = {weights, type, Tag::any},
                      .weight_gradient = {weights, kFloat, Tag::any},
                      .bias = bias_desc(with_bias, kernel.back()),
                      .destination = images(y.shape),
                      .canonical = {weights, kFloat, groups > 1 ? grouped : whole}};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const ops::WindowAxis window = ops::window_axis(x.shape[axis + 1], kernel[axis], attributes.strides[axis],
                                                    attributes.dilation_rate[axis], attributes.padding);
    problem.strides.push_back(attributes.strides[axis]);
    problem.dilation.push_back(attributes.dilation_rate[axis] - 1);
    problem.pad_before.push_back(window.pad_before);
    problem.pad_after.push_back(window.pad_after);
  }
  return problem;
}

template Convolution convolution(const ops::ConvAttributes<2>&, const TensorView&, const Shape&, const TensorView&,
                                 bool);
template Convolution convolution(const ops::ConvAttributes<3>&, const TensorView&, const Shape&, const TensorView&,
                                 bool);

}  // namespace mirrortrain::cpu::onednn
