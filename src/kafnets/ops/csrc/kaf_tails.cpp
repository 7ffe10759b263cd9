#include "kaf1d.h"

template class ByNeuron<float, GaussianSumWithTails>;
template class ByNeuron<double, GaussianSumWithTails>;
