// The Python module. ops/native.py checks what it passes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "entry.h"
#include "kaf_table.h"
#include "parallel.h"
#include "xla.h"

namespace nb = nanobind;

namespace {

template <class AnyEntry>
void define(nb::module_& m, const std::string& name, const AnyEntry& entry) {
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  m.def((name + "_forward_float32").c_str(), entry.forward_float32, unlocked);
  m.def((name + "_forward_float64").c_str(), entry.forward_float64, unlocked);
  m.def((name + "_backward_float32").c_str(), entry.backward_float32, unlocked);
  m.def((name + "_backward_float64").c_str(), entry.backward_float64, unlocked);
}

// Whether the first `count` numbers of each row are all 0.
template <class T>
bool is_zero(uintptr_t address, int64_t rows, int64_t length, int64_t count) {
  const T* values = pointer<const T>(address);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < count; ++k) {
      if (values[row * length + k] != 0) return false;
    }
  }
  return true;
}

bool runs(const std::string& instruction_set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (instruction_set == "avx2") return avx2;
  if (instruction_set == "avx512") {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return instruction_set == "baseline";
}

}  // namespace

NB_MODULE(KAF_MODULE_NAME, m) {
  m.attr("interface") = 3;  // ops/native.py has the same number: one that knows other settings would be silently wrong
  define(m, "kaf", kaf_entry);
  define(m, "kaf2d", kaf2d_entry);
  define(m, "kaf_by_bandwidth", kaf_by_bandwidth_entry);
  define(m, "hinges", hinges_entry);
  define(m, "powers", powers_entry);
  define(m, "hermite", hermite_entry);
  define(m, "cubics", cubics_entry);
  define(m, "bells", bells_entry);
  define(m, "kaf_slopes", kaf_slopes_entry);
  define(m, "kaf_slopes_by_bandwidth", kaf_slopes_by_bandwidth_entry);
  define(m, "kernel_values", kernel_values_entry);
  m.def("baked_forward_float32", baked_float32, nb::call_guard<nb::gil_scoped_release>());
  m.def("baked_forward_float64", baked_float64, nb::call_guard<nb::gil_scoped_release>());
  m.def("is_zero_float32", &is_zero<float>);
  m.def("is_zero_float64", &is_zero<double>);
  m.def("runs", &runs, "Whether the processor has an instruction set. To be asked of the baseline module.");
  nb::dict handlers;
  for (int i = 0; i < xla_handler_count; ++i) {
    handlers[xla_handlers[i].name] = nb::capsule(xla_handlers[i].function, "xla._CUSTOM_CALL_TARGET");
  }
  m.attr("xla_handlers") = handlers;
  m.def("prefer_tables", &prefer_tables, "Tables (1), the formula (-1), or the faster of the two (0).");
  m.def("use_openmp", &use_openmp, "Whether threads come from torch's OpenMP, where it can be found.");
}
