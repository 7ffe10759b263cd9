// The Python module: addresses of contiguous arrays in, nothing out. ops/cpu.py checks what it passes.
#include <nanobind/nanobind.h>

#include "kaf1d.h"
#include "kaf2d.h"

namespace nb = nanobind;

namespace {

template <class T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

template <template <class> class Kernel, class T>
void forward(uintptr_t x, uintptr_t alpha, uintptr_t y, int64_t batch, int64_t neurons, int64_t positions,
             int64_t size, double first, double spacing, double gamma, int threads) {
  const Kernel<T> kernel({size, first, spacing, gamma}, batch, neurons, positions, threads);
  kernel.forward(pointer<const T>(x), pointer<const T>(alpha), pointer<T>(y));
}

template <template <class> class Kernel, class T>
void backward(uintptr_t x, uintptr_t alpha, uintptr_t upstream, uintptr_t dx, uintptr_t dalpha, int64_t batch,
              int64_t neurons, int64_t positions, int64_t size, double first, double spacing, double gamma,
              int threads) {
  const Kernel<T> kernel({size, first, spacing, gamma}, batch, neurons, positions, threads);
  kernel.backward(pointer<const T>(x), pointer<const T>(alpha), pointer<const T>(upstream), pointer<T>(dx),
                  pointer<T>(dalpha));
}

}  // namespace

NB_MODULE(KAF_MODULE_NAME, m) {
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  m.def("kaf_forward_float32", &forward<Kaf1d, float>, unlocked);
  m.def("kaf_forward_float64", &forward<Kaf1d, double>, unlocked);
  m.def("kaf_backward_float32", &backward<Kaf1d, float>, unlocked);
  m.def("kaf_backward_float64", &backward<Kaf1d, double>, unlocked);
  m.def("kaf2d_forward_float32", &forward<Kaf2d, float>, unlocked);
  m.def("kaf2d_forward_float64", &forward<Kaf2d, double>, unlocked);
  m.def("kaf2d_backward_float32", &backward<Kaf2d, float>, unlocked);
  m.def("kaf2d_backward_float64", &backward<Kaf2d, double>, unlocked);
  m.def("use_openmp", &use_openmp, "Whether threads come from torch's OpenMP, where it can be found.");
}
