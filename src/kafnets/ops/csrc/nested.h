// 2D-KAFs as polynomials within polynomials. With up = exp(2 a z), as plan.h has it, a row of the dictionary is
//
//   sum_j alpha_ij exp(-a (z - j)^2) = exp(-a z^2) sum_j (alpha_ij w_j) up^j,   w_j = exp(-a j^2),
//
// by Horner's scheme from both ends to the center, and so is the sum over rows. No kernel value is ever stored, and the
// only thing that is loaded is a coefficient, for as many rows of the input as a vector has parts.
#pragma once

#include "layout.h"
#include "terms.h"

// Whether both polynomials together stay in range: for a dictionary in one piece, and not too long.
template <class T>
bool nests(const Plan<T>& plan) {
  constexpr double kLongest = 8;  // a m^2 of the farthest element: factors then are between exp(-66) and exp(50)
  const double farthest = -std::log(std::ldexp(static_cast<double>(plan.weights[0]), Range<T>::kBias));
  return plan.segments.size() == 1 && plan.segments[0].below > 0 && plan.segments[0].above > 0 && farthest <= kLongest;
}

// Horner's scheme from both ends: the sum of at(k) up^k, k counted from the center, for element `center` of `size`.
template <class T, class At>
KAF_INLINE Vec<T> from_both_ends(int size, int center, Vec<T> up, Vec<T> down, const At& at) {
  Vec<T> above = at(size - 1), below = at(0);
  for (int k = size - 2; k >= center; --k) above = mul_add(above, up, at(k));
  for (int k = 1; k < center; ++k) below = mul_add(below, down, at(k));
  return mul_add(below, down, above);
}

// The function at pairs of activations; `coefficients` are those times both weights. kSize: that of the dictionary, if
// it is known when this is compiled, which unrolls all loops.
template <class Neurons, int kSize, class T>
KAF_INLINE Vec<T> nested_value(const Plan<T>& plan, const T* coefficients, Vec<T> first, Vec<T> second) {
  const Segment<T>& segment = plan.segments[0];
  const Terms<T> outer = terms_of<T>(plan, segment, nullptr, first), inner = terms_of<T>(plan, segment, nullptr, second);
  const int size = kSize ? kSize : plan.size, center = kSize ? kSize / 2 : segment.below;
  const auto row = [&](int i) __attribute__((always_inline)) {
    return from_both_ends(size, center, inner.up, inner.down, [&](int j) __attribute__((always_inline)) {
      return Neurons::at(coefficients, i * size + j);
    });
  };
  return from_both_ends(size, center, outer.up, outer.down, row) * (outer.envelope * inner.envelope);
}
