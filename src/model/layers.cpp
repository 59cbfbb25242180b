#include "model/layers.h"

template class mirrortrain::config::CompiledOnce<mirrortrain::PlainLayerVariant>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::PlainLayer>();
template class mirrortrain::config::CompiledOnce<mirrortrain::LayerVariant>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Layer>();
