#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "kernels/kernel.h"

/// One interface to oneDNN 2.6 and 3.x: their differences are hidden in onednn.cpp.
namespace mirrortrain::cpu::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

/// The CPU, shared by all lanes.
const dnnl::engine& engine();

dnnl::memory::data_type type_of(DType dtype);

/// Whether the processor multiplies bfloat16 matrices in tiles (AMX), far faster than float32.
bool has_tiles();

/// Names a layout: equal for descriptors with the same layout.
std::string key_of(const Desc& desc);

/// Sets how many threads OpenMP's regions have on the calling thread (device/cpu/openmp.cpp), which oneDNN asks for
/// when a primitive is created and when it runs. Restores the number at the end.
class TeamSize {
 public:
  explicit TeamSize(int threads);
  ~TeamSize();
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

/// A primitive whose memory objects are created once; a run only sets their pointers and allocates nothing here.
class Primitive {
 public:
  using Argument = std::pair<int, Desc>;  ///< DNNL_ARG_SRC, ...

  Primitive() = default;
  Primitive(const dnnl::primitive& primitive, const std::vector<Argument>& arguments);

  void set(int argument, const void* data);
  void run();

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Converts `from` into `to`: DNNL_ARG_FROM, DNNL_ARG_TO.
Primitive make_reorder(const Desc& from, const Desc& to);

/// The canonical float32 tensor `from` in the form `to`, made with `threads` threads.
DerivedForm derived_form(const Desc& from, const Desc& to, int threads);

/// Scratchpads are user-provided (in the workspace). `relu` appends max(0, x).
dnnl::primitive_attr attributes(bool relu = false);

/// A dense layer in oneDNN's order of axes: source [rows, in], weights [out, in], bias [out] (empty where there is
/// none), destination [rows, out]. `canonical` is the layout of the float32 kernel in memory, `weights` the one that
/// the primitive may choose.
struct InnerProduct {
  DType dtype;  ///< of source and destination
  Desc source, weights, weight_gradient, bias, destination, canonical;
};

/// A convolution in oneDNN's order of axes: images [n, channels, h, w], weights [(groups,) out, in, kh, kw]; volumes
/// have a depth before the height. `dilation` counts from 0.
struct Convolution {
  DType dtype;  ///< of source and destination
  Desc source, weights, weight_gradient, bias, destination, canonical;
  Dims strides, dilation, pad_before, pad_after;
};

// Empty if oneDNN has no implementation, or for bfloat16 only its slow reference one. `problem.source` and so on stand
// for the gradients of the same shape.
dnnl::inner_product_forward::primitive_desc forward(const InnerProduct& problem, bool relu);
dnnl::inner_product_backward_data::primitive_desc input_gradient(const InnerProduct& problem);
dnnl::inner_product_backward_weights::primitive_desc weight_gradient(const InnerProduct& problem);
dnnl::convolution_forward::primitive_desc forward(const Convolution& problem, bool relu);
dnnl::convolution_backward_data::primitive_desc input_gradient(const Convolution& problem);
dnnl::convolution_backward_weights::primitive_desc weight_gradient(const Convolution& problem);

}  // namespace mirrortrain::cpu::onednn
