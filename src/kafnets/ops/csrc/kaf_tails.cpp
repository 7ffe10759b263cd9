#include "kaf1d.h"

template <class T>
using GaussianSumWithTails = GaussianSum<T, true>;

template <class T>
void KafWithTails<T>::forward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                              const T* x, const T* alpha, T* y) {
  ByNeuron<T, GaussianSumWithTails>(settings, batch, neurons, positions, threads).forward(x, alpha, y);
}

template <class T>
void KafWithTails<T>::backward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                               const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) {
  ByNeuron<T, GaussianSumWithTails>(settings, batch, neurons, positions, threads)
      .backward(x, alpha, upstream, dx, dalpha);
}

template struct KafWithTails<float>;
template struct KafWithTails<double>;
