#include "strategy/reduction/domain_link.h"

namespace mirrortrain {

DomainLink::DomainLink(Device& device, const StepKernels& kernels, Communicator& communicator)
    : kernels_(kernels),
      communicator_(communicator),
      numbers_(device, &communicator, 1, DType::kFloat64, 1, "numbers") {}

void DomainLink::sum_number(Stream& stream, double* number, std::string_view what) const {
  stream.copy(numbers_.row(numbers_.own(0)), reinterpret_cast<const std::byte*>(number), sizeof(double));
  numbers_.gather(stream, what);
  kernels_.sum_rows(stream, numbers_.row<double>(0), numbers_.rows(), numbers_.stride(), 1, number);
}

}  // namespace mirrortrain
