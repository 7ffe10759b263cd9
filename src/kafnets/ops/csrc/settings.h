// What Python tells a kernel, each of which reads the numbers its own way.
#pragma once

#include <cstdint>

struct Settings {
  int64_t size;  // of the dictionary, or coefficients a neuron
  double first, second, third;
};
