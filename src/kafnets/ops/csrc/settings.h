// What Python tells a kernel, each of which reads the numbers its own way.
#pragma once

#include <cstdint>

struct Settings {
  int64_t size;  // of the dictionary, or coefficients a neuron
  double first, second, third, fourth, fifth;

  bool operator==(const Settings& other) const {
    return size == other.size && first == other.first && second == other.second && third == other.third &&
           fourth == other.fourth && fifth == other.fifth;
  }
};
