// What a kernel looks like from outside: addresses of contiguous arrays in, nothing out. Each kernel is compiled on its
// own, in a file that defines its entry, so that the processor's cores share the work.
#pragma once

#include <cstdint>

#include "settings.h"

struct Entry {
  using Forward = void (*)(uintptr_t x, uintptr_t alpha, uintptr_t y, int64_t batch, int64_t neurons, int64_t positions,
                           int64_t size, double first, double second, double third, double fourth, double fifth,
                           int threads);
  using Backward = void (*)(uintptr_t x, uintptr_t alpha, uintptr_t upstream, uintptr_t dx, uintptr_t dalpha,
                            int64_t batch, int64_t neurons, int64_t positions, int64_t size, double first,
                            double second, double third, double fourth, double fifth, int threads);
  Forward forward_float32, forward_float64;
  Backward backward_float32, backward_float64;
};

template <class T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

template <template <class> class Kernel, class T>
void forward(uintptr_t x, uintptr_t alpha, uintptr_t y, int64_t batch, int64_t neurons, int64_t positions, int64_t size,
             double first, double second, double third, double fourth, double fifth, int threads) {
  const Kernel<T> kernel({size, first, second, third, fourth, fifth}, batch, neurons, positions, threads);
  kernel.forward(pointer<const T>(x), pointer<const T>(alpha), pointer<T>(y));
}

template <template <class> class Kernel, class T>
void backward(uintptr_t x, uintptr_t alpha, uintptr_t upstream, uintptr_t dx, uintptr_t dalpha, int64_t batch,
              int64_t neurons, int64_t positions, int64_t size, double first, double second, double third,
              double fourth, double fifth, int threads) {
  const Kernel<T> kernel({size, first, second, third, fourth, fifth}, batch, neurons, positions, threads);
  kernel.backward(pointer<const T>(x), pointer<const T>(alpha), pointer<const T>(upstream), pointer<T>(dx),
                  pointer<T>(dalpha));
}

template <template <class> class Kernel>
constexpr Entry entry_of() {
  return {&forward<Kernel, float>, &forward<Kernel, double>, &backward<Kernel, float>, &backward<Kernel, double>};
}

extern const Entry kaf_entry, kaf2d_entry, kaf_by_bandwidth_entry, hinges_entry, powers_entry, hermite_entry,
    cubics_entry, bells_entry, kaf_slopes_entry, kaf_slopes_by_bandwidth_entry;
// Of kernel values, which are no function of neurons: see kernel_values.h.
struct KernelValuesEntry {
  using Values = void (*)(uintptr_t x, int64_t count, uintptr_t elements, int64_t size, double gamma, uintptr_t values,
                          int threads);
  using Gradients = void (*)(uintptr_t x, int64_t count, uintptr_t elements, int64_t size, double gamma,
                             uintptr_t values, uintptr_t upstream, uintptr_t dx, int threads);
  Values forward_float32, forward_float64;
  Gradients backward_float32, backward_float64;
};
extern const KernelValuesEntry kernel_values_entry;
extern const Entry::Forward baked_float32, baked_float64;  // never differentiated
