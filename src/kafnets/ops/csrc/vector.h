// Vectors of a width fixed at compile time, by the vector extensions of GCC and Clang.
//
// The sources are built into one Python module for each instruction set (see CMakeLists.txt) and only the
// right one is loaded, so that no code for a newer processor can ever run on an older one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define KAF_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define KAF_VECTOR_BYTES 32
#else
#define KAF_VECTOR_BYTES 16
#endif

#define KAF_INLINE inline __attribute__((always_inline))

template <class T>
struct NativeTypes;

template <>
struct NativeTypes<float> {
  typedef float V __attribute__((vector_size(KAF_VECTOR_BYTES)));
  typedef int32_t I __attribute__((vector_size(KAF_VECTOR_BYTES)));
  typedef uint32_t U __attribute__((vector_size(KAF_VECTOR_BYTES)));
};

template <>
struct NativeTypes<double> {
  typedef double V __attribute__((vector_size(KAF_VECTOR_BYTES)));
  typedef int64_t I __attribute__((vector_size(KAF_VECTOR_BYTES)));
  typedef uint64_t U __attribute__((vector_size(KAF_VECTOR_BYTES)));
};

// What the processor calls a vector.
template <class T>
using Native = typename NativeTypes<T>::V;
template <class T>
using NativeInt = typename NativeTypes<T>::I;
template <class T>
using NativeBits = typename NativeTypes<T>::U;

// What we call one: as many of them as keep the processor busy. The formulas are long chains in which each step
// waits for the one before, so that one vector alone leaves the arithmetic units idle half of the time.
#if defined(__AVX2__)
constexpr int kParts = 2;
#else
constexpr int kParts = 1;
#endif

template <class T>
constexpr int kNativeWidth = KAF_VECTOR_BYTES / sizeof(T);
template <class T>
constexpr int kWidth = kParts * kNativeWidth<T>;

template <class T>
struct Vec {
  Native<T> part[kParts];
};

// By lane: a bit, or all ones or all zeros.
#if defined(__AVX512F__)
template <class T>
using NativeMask = unsigned;
#else
template <class T>
using NativeMask = NativeInt<T>;
#endif

template <class T>
struct Mask {
  NativeMask<T> part[kParts];
};

// function(i) for each part. Without a loop compilers take it apart sooner, and are faster by a quarter.
template <class T, class Function>
KAF_INLINE Vec<T> for_parts(const Function& function) {
  static_assert(kParts <= 2);
  if constexpr (kParts == 1) {
    return {function(0)};
  } else {
    return {function(0), function(1)};
  }
}

// function(the parts of vectors), which should not refer to anything outside, for the same reason.
template <class T, class Function, class... More>
KAF_INLINE Vec<T> by_parts(const Function& function, Vec<T> v, More... more) {
  if constexpr (kParts == 1) {
    return {function(v.part[0], more.part[0]...)};
  } else {
    return {function(v.part[0], more.part[0]...), function(v.part[1], more.part[1]...)};
  }
}

// The same native vector for all parts.
template <class T>
KAF_INLINE Vec<T> for_all_parts(Native<T> v) {
  if constexpr (kParts == 1) {
    return {v};
  } else {
    return {v, v};
  }
}

template <class T>
KAF_INLINE Vec<T> splat(T value) {
  return for_all_parts<T>(value - Native<T>{});
}

#define KAF_OPERATOR(op)                                                    \
  template <class T>                                                        \
  KAF_INLINE Vec<T> operator op(Vec<T> a, Vec<T> b) {                       \
    return by_parts([](Native<T> p, Native<T> q) { return p op q; }, a, b); \
  }                                                                         \
  template <class T>                                                        \
  KAF_INLINE Vec<T> operator op(T a, Vec<T> b) {                            \
    return by_parts([a](Native<T> q) { return a op q; }, b);                \
  }                                                                         \
  template <class T>                                                        \
  KAF_INLINE Vec<T> operator op(Vec<T> a, T b) {                            \
    return by_parts([b](Native<T> p) { return p op b; }, a);                \
  }
KAF_OPERATOR(+)
KAF_OPERATOR(-)
KAF_OPERATOR(*)
#undef KAF_OPERATOR

// The parts added up.
template <class T>
KAF_INLINE Native<T> sum_of_parts(Vec<T> v) {
  Native<T> result = v.part[0];
  for (int i = 1; i < kParts; ++i) result += v.part[i];
  return result;
}

template <class T>
KAF_INLINE Vec<T> operator-(Vec<T> a) {
  return by_parts([](Native<T> p) { return -p; }, a);
}

template <class T>
KAF_INLINE Native<T> load_native(const T* from) {
  Native<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
KAF_INLINE void store_native(T* to, Native<T> v) {
  std::memcpy(to, &v, sizeof v);
}

// The first `count` lanes; the others are 0, and are not touched in memory.
template <class T>
KAF_INLINE Native<T> load_some(const T* from, int count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return (Native<T>)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
  } else {
    return (Native<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), from);
  }
#else
  T lanes[kNativeWidth<T>] = {};
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return load_native<T>(lanes);
#endif
}

template <class T>
KAF_INLINE void store_some(T* to, Native<T> v, int count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
  } else {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << count) - 1), (__m512d)v);
  }
#else
  T lanes[kNativeWidth<T>];
  store_native<T>(lanes, v);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

template <class T>
KAF_INLINE Vec<T> load(const T* from) {
  return for_parts<T>([from](int i) { return load_native<T>(from + i * kNativeWidth<T>); });
}

template <class T>
KAF_INLINE void store(T* to, Vec<T> v) {
  for (int i = 0; i < kParts; ++i) store_native<T>(to + i * kNativeWidth<T>, v.part[i]);
}

// a * b + c, rounded once. The corrections in exponential.h rely on that.
KAF_INLINE Native<float> native_fma(Native<float> a, Native<float> b, Native<float> c) {
#if defined(__AVX512F__)
  return (Native<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Native<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON)
  return (Native<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__SSE2__)
  // Exact in double but for the sum, whose second rounding is harmless here.
  const auto half = [](__m128 p, __m128 q, __m128 r) {
    return _mm_cvtpd_ps(_mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(p), _mm_cvtps_pd(q)), _mm_cvtps_pd(r)));
  };
  const auto high = [](Native<float> v) { return _mm_movehl_ps((__m128)v, (__m128)v); };
  return (Native<float>)_mm_movelh_ps(half((__m128)a, (__m128)b, (__m128)c), half(high(a), high(b), high(c)));
#else
  Native<float> result;  // the same
  for (int i = 0; i < kNativeWidth<float>; ++i) result[i] = static_cast<float>(double(a[i]) * b[i] + c[i]);
  return result;
#endif
}

KAF_INLINE Native<double> native_fma(Native<double> a, Native<double> b, Native<double> c) {
#if defined(__AVX512F__)
  return (Native<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (Native<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__ARM_NEON)
  return (Native<double>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  Native<double> result;
  for (int i = 0; i < kNativeWidth<double>; ++i) result[i] = std::fma(a[i], b[i], c[i]);
  return result;
#endif
}

template <class T>
KAF_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return by_parts([](Native<T> p, Native<T> q, Native<T> r) { return native_fma(p, q, r); }, a, b, c);
}

// A multiply-add whose rounding nothing relies on: two operations where the processor has no single one.
template <class V>
KAF_INLINE V native_mul_add(V a, V b, V c) {
#if defined(__FMA__) || defined(__ARM_NEON)
  return native_fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
KAF_INLINE Vec<T> mul_add(Vec<T> a, Vec<T> b, Vec<T> c) {
  return by_parts([](Native<T> p, Native<T> q, Native<T> r) { return native_mul_add(p, q, r); }, a, b, c);
}

// The smaller and the larger of two; NaN if b is.
KAF_INLINE Native<float> native_lesser(Native<float> a, Native<float> b) {
#if defined(__AVX512F__)
  return (Native<float>)_mm512_min_ps((__m512)a, (__m512)b);
#else
  return a < b ? a : b;
#endif
}

KAF_INLINE Native<float> native_greater(Native<float> a, Native<float> b) {
#if defined(__AVX512F__)
  return (Native<float>)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return a > b ? a : b;
#endif
}

KAF_INLINE Native<double> native_lesser(Native<double> a, Native<double> b) { return a < b ? a : b; }
KAF_INLINE Native<double> native_greater(Native<double> a, Native<double> b) { return a > b ? a : b; }

template <class T>
KAF_INLINE Vec<T> lesser(Vec<T> a, Vec<T> b) {
  return by_parts([](Native<T> p, Native<T> q) { return native_lesser(p, q); }, a, b);
}

template <class T>
KAF_INLINE Vec<T> greater(Vec<T> a, Vec<T> b) {
  return by_parts([](Native<T> p, Native<T> q) { return native_greater(p, q); }, a, b);
}

// Lanes in which two differ. NaN does not differ from anything.
KAF_INLINE NativeMask<float> native_differing(Native<float> a, Native<float> b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NEQ_OQ);
#elif defined(__AVX2__)
  return (NativeMask<float>)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_NEQ_OQ);
#else
  return (a < b) | (a > b);
#endif
}

KAF_INLINE NativeMask<double> native_differing(Native<double> a, Native<double> b) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_NEQ_OQ);
#elif defined(__AVX2__)
  return (NativeMask<double>)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_NEQ_OQ);
#else
  return (a < b) | (a > b);
#endif
}

template <class T>
KAF_INLINE Mask<T> differing(Vec<T> a, Vec<T> b) {
  Mask<T> result;
  for (int i = 0; i < kParts; ++i) result.part[i] = native_differing(a.part[i], b.part[i]);
  return result;
}

// By the sign of the first: the second where it is positive, else the third.
template <class T>
KAF_INLINE Vec<T> by_sign(Vec<T> sign, Vec<T> positive, Vec<T> negative) {
  return by_parts([](Native<T> by, Native<T> p, Native<T> q) { return by > T(0) ? p : q; }, sign, positive, negative);
}

// By the sign bit of the first, which takes one instruction: the second where it is not set, else the third.
KAF_INLINE Native<float> native_by_sign_bit(Native<float> by, Native<float> clear, Native<float> set) {
#if defined(__AVX512F__)
  return (Native<float>)_mm512_mask_mov_ps((__m512)clear, _mm512_movepi32_mask((__m512i)by), (__m512)set);
#elif defined(__AVX2__)
  return (Native<float>)_mm256_blendv_ps((__m256)clear, (__m256)set, (__m256)by);
#else
  return (NativeInt<float>)by < 0 ? set : clear;
#endif
}

KAF_INLINE Native<double> native_by_sign_bit(Native<double> by, Native<double> clear, Native<double> set) {
  return (NativeInt<double>)by < 0 ? set : clear;
}

template <class T>
KAF_INLINE Vec<T> by_sign_bit(Vec<T> sign, Vec<T> clear, Vec<T> set) {
  return by_parts([](Native<T> by, Native<T> p, Native<T> q) { return native_by_sign_bit(by, p, q); }, sign, clear, set);
}

#if defined(__AVX512F__)
KAF_INLINE Native<float> native_zero_where(unsigned mask, Native<float> v) {
  return (Native<float>)_mm512_maskz_mov_ps(static_cast<__mmask16>(~mask), (__m512)v);
}
KAF_INLINE Native<double> native_zero_where(unsigned mask, Native<double> v) {
  return (Native<double>)_mm512_maskz_mov_pd(static_cast<__mmask8>(~mask), (__m512d)v);
}

// Nearest whole numbers, and v 2^n.
KAF_INLINE Native<float> native_rounded(Native<float> v) {
  return (Native<float>)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
KAF_INLINE Native<double> native_rounded(Native<double> v) {
  return (Native<double>)_mm512_roundscale_pd((__m512d)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
KAF_INLINE Native<float> native_scaled(Native<float> v, Native<float> n) {
  return (Native<float>)_mm512_scalef_ps((__m512)v, (__m512)n);
}
KAF_INLINE Native<double> native_scaled(Native<double> v, Native<double> n) {
  return (Native<double>)_mm512_scalef_pd((__m512d)v, (__m512d)n);
}
#else
template <class M, class V>
KAF_INLINE V native_zero_where(M mask, V v) {
  return (V)(~mask & (M)v);
}
#endif

template <class T>
KAF_INLINE Vec<T> zero_where(Mask<T> mask, Vec<T> v) {
  return for_parts<T>([mask, v](int i) { return native_zero_where(mask.part[i], v.part[i]); });
}

template <class T>
KAF_INLINE Vec<T> absolute(Vec<T> v) {
  return by_parts(
      [](Native<T> p) {
        const Native<T> sign = T(-0.0) - Native<T>{};
        return (Native<T>)(~(NativeInt<T>)sign & (NativeInt<T>)p);
      },
      v);
}

// Whether a lane is set.
template <class T>
KAF_INLINE bool any(Mask<T> mask) {
  NativeMask<T> either = mask.part[0];
  for (int i = 1; i < kParts; ++i) either |= mask.part[i];
#if defined(__AVX512F__)
  return either != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)either) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)either) != 0;
#else
  bool result = false;
  for (int i = 0; i < kNativeWidth<T>; ++i) result = result || either[i];
  return result;
#endif
}

// Whether all lanes are set.
template <class T>
KAF_INLINE bool all(Mask<T> mask) {
  NativeMask<T> both = mask.part[0];
  for (int i = 1; i < kParts; ++i) both &= mask.part[i];
#if defined(__AVX512F__)
  return both == (1u << kNativeWidth<T>) - 1;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)both) == -1;
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)both) == 0xffff;
#else
  bool result = true;
  for (int i = 0; i < kNativeWidth<T>; ++i) result = result && both[i];
  return result;
#endif
}
