// Short vectors of floats whose lanes go separate ways: each looks something up at an address of its own.
#pragma once

#include "vector.h"

// Eight floats where the processor has such vectors, else four. Wider ones would have to be put together from quarters.
#if defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t IntLanes __attribute__((vector_size(kLanes * 4)));
typedef float Quad __attribute__((vector_size(16)));

// Whether a number can be looked up among 32 of two vectors, in each lane by an index of its own.
#if defined(__AVX512F__)
constexpr bool kLooksUpInRegisters = true;
#else
constexpr bool kLooksUpInRegisters = false;
#endif

template <class V>
KAF_INLINE V load_as(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
KAF_INLINE void store_as(void* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

KAF_INLINE Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
#if defined(__FMA__)
  return (Lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON)
  return (Lanes)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

// Four numbers from each address; from two where there are eight lanes.
KAF_INLINE Lanes load_quads(const float* low, const float* high) {
#if defined(__AVX2__)
  return (Lanes)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
#else
  (void)high;
  return load_as<Lanes>(low);
#endif
}

KAF_INLINE void store_quads(float* low, float* high, Lanes v) {
#if defined(__AVX2__)
  store_as(low, __builtin_shufflevector(v, v, 0, 1, 2, 3));
  store_as(high, __builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
  (void)high;
  store_as(low, v);
#endif
}

// Four vectors as a matrix of four columns, or two of them side by side, transposed.
KAF_INLINE void transpose(Lanes (&v)[4]) {
#if defined(__AVX2__)
  const Lanes a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes b = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes c = __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const Lanes d = __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
  v[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
  v[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  v[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
  v[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
#else
  const Lanes a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  const Lanes c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
#endif
}

KAF_INLINE Lanes lanes_of(float value) { return value - Lanes{}; }

// The smaller and the larger of two; the second if one of them is NaN.
KAF_INLINE Lanes lesser_of(Lanes a, Lanes b) {
#if defined(__AVX2__)
  return (Lanes)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (Lanes)_mm_min_ps((__m128)a, (__m128)b);
#else
  return a < b ? a : b;
#endif
}

KAF_INLINE Lanes greater_of(Lanes a, Lanes b) {
#if defined(__AVX2__)
  return (Lanes)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (Lanes)_mm_max_ps((__m128)a, (__m128)b);
#else
  return a > b ? a : b;
#endif
}

KAF_INLINE bool any(IntLanes mask) {
#if defined(__AVX2__)
  return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_ps((__m128)mask) != 0;
#else
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}
