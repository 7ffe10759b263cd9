#include "kernel_values.h"

#include "entry.h"

namespace {

template <class T>
void values_of(uintptr_t x, int64_t count, uintptr_t elements, int64_t size, double gamma, uintptr_t values, int threads) {
  KernelValues<T>(pointer<const T>(elements), size, gamma).forward(pointer<const T>(x), count, pointer<T>(values), threads);
}

template <class T>
void gradients_of(uintptr_t x, int64_t count, uintptr_t elements, int64_t size, double gamma, uintptr_t values,
                  uintptr_t upstream, uintptr_t dx, int threads) {
  KernelValues<T>(pointer<const T>(elements), size, gamma)
      .backward(pointer<const T>(x), count, pointer<const T>(values), pointer<const T>(upstream), pointer<T>(dx), threads);
}

}  // namespace

extern const KernelValuesEntry kernel_values_entry = {&values_of<float>, &values_of<double>, &gradients_of<float>,
                                                      &gradients_of<double>};
