#include "model/layers.h"

template class mirrortrain::config::CompiledOnce<mirrortrain::PlainLayerVariant>;
template class mirrortrain::config::CompiledOnce<mirrortrain::LayerVariant>;
