// The Python module: addresses of contiguous arrays in, nothing out. ops/cpu.py checks what it passes.
#include <nanobind/nanobind.h>

#include "bandwidths.h"
#include "cubics.h"
#include "hermite.h"
#include "hinges.h"
#include "kaf1d.h"
#include "kaf2d.h"
#include "powers.h"

namespace nb = nanobind;

namespace {

template <class T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

template <template <class> class Kernel, class T>
void forward(uintptr_t x, uintptr_t alpha, uintptr_t y, int64_t batch, int64_t neurons, int64_t positions,
             int64_t size, double first, double second, double third, int threads) {
  const Kernel<T> kernel({size, first, second, third}, batch, neurons, positions, threads);
  kernel.forward(pointer<const T>(x), pointer<const T>(alpha), pointer<T>(y));
}

template <template <class> class Kernel, class T>
void backward(uintptr_t x, uintptr_t alpha, uintptr_t upstream, uintptr_t dx, uintptr_t dalpha, int64_t batch,
              int64_t neurons, int64_t positions, int64_t size, double first, double second, double third,
              int threads) {
  const Kernel<T> kernel({size, first, second, third}, batch, neurons, positions, threads);
  kernel.backward(pointer<const T>(x), pointer<const T>(alpha), pointer<const T>(upstream), pointer<T>(dx),
                  pointer<T>(dalpha));
}

}  // namespace

// For one kernel, float32 and float64.
#define KAF_DEFINE(name, Kernel)                                              \
  m.def(name "_forward_float32", &forward<Kernel, float>, unlocked);          \
  m.def(name "_forward_float64", &forward<Kernel, double>, unlocked);         \
  m.def(name "_backward_float32", &backward<Kernel, float>, unlocked);        \
  m.def(name "_backward_float64", &backward<Kernel, double>, unlocked);

NB_MODULE(KAF_MODULE_NAME, m) {
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  KAF_DEFINE("kaf", Kaf1d)
  KAF_DEFINE("kaf2d", Kaf2d)
  KAF_DEFINE("kaf_by_bandwidth", KafByBandwidth)
  KAF_DEFINE("hinges", Hinges)
  KAF_DEFINE("powers", Powers)
  KAF_DEFINE("hermite", Hermite)
  KAF_DEFINE("cubics", Cubics)
  m.def("use_openmp", &use_openmp, "Whether threads come from torch's OpenMP, where it can be found.");
}
