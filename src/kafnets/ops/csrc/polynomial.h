// Polynomials of degree 7 in place of smooth functions, on short intervals.
#pragma once

#include <array>
#include <cmath>

constexpr int kPowers = 8;

using Coefficients = std::array<double, kPowers>;  // lowest power first

// A polynomial in t from -1 to 1, and bounds of its error and of its slope's.
struct Fit {
  Coefficients powers;
  double error, slope_error;
};

// The Chebyshev series of the derivative is cut off after kPowers - 1 terms, and integrated: so the slope is as good as it
// can be, and the value better still. The terms that are left out give the bounds.
template <class Function>
Fit fit_polynomial(const Function& function) {
  constexpr int kNodes = 2 * kPowers;
  double series[kNodes + 2] = {}, slopes[kNodes + 2] = {};
  for (int i = 0; i < kNodes; ++i) {
    const double angle = M_PI * (i + 0.5) / kNodes, value = function(std::cos(angle));
    for (int k = 0; k < kNodes; ++k) series[k] += 2.0 / kNodes * value * std::cos(k * angle);
  }
  for (int k = kNodes - 1; k >= 1; --k) slopes[k - 1] = slopes[k + 1] + 2 * k * series[k];
  Fit fit = {{}, 0, 0};
  for (int k = kPowers - 1; k < kNodes; ++k) {
    fit.slope_error += std::abs(slopes[k]);
    slopes[k] = 0;
  }
  // T_k by powers of t, one after the other.
  Coefficients before = {}, chebyshev = {1};
  for (int k = 0; k < kNodes; ++k) {
    const double kept = k == 0 ? series[0] / 2 : k < kPowers ? (slopes[k - 1] - slopes[k + 1]) / (2 * k) : 0;
    if (k > 0) fit.error += std::abs(kept - series[k]);
    if (k >= kPowers) continue;
    Coefficients next = {};
    for (int j = 0; j < kPowers; ++j) {
      fit.powers[j] += kept * chebyshev[j];
      next[j] = (k == 0 ? 1 : 2) * (j > 0 ? chebyshev[j - 1] : 0) - before[j];
    }
    before = k == 0 ? Coefficients{1} : chebyshev;
    chebyshev = next;
  }
  return fit;
}
