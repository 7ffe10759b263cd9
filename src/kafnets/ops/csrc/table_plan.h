// How a sum of Gaussians becomes a table: constants that depend on the dictionary, the bandwidth, tails and base only.
//
// Between two dictionary elements the sum is smooth. Each such interval is cut into a few cells of equal width, and in
// each cell the function of a neuron is a polynomial, whose coefficients are linear in alpha. On an equispaced
// dictionary what an element contributes to a cell depends on the distance between the two alone, so that one short
// list of polynomials serves all elements and all cells. Tails and bases are further polynomials of the same cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "layout.h"
#include "outside.h"
#include "plan.h"
#include "polynomial.h"

struct TablePlan {
  // What the polynomials may differ from the Gaussian, whose largest value is 1; from a base; and their slopes from
  // theirs, relative to the square root of gamma. A quarter of a unit in the last place of 1, and one.
  static constexpr double kLargestError = 1.5e-8, kLargestSlopeError = 1.2e-7;
  static constexpr double kVanished = 2e-12;  // below this a term counts as 0
  static constexpr int kMostCellsPerSpacing = 16, kMostRows = 2048;
  static constexpr int kNear = 32;  // rows that registers can hold, where the processor looks numbers up there
  static constexpr double kMostCellsFromZero = 4096;  // so that n * width_high below is exact

  explicit TablePlan(const Settings& s)
      : outside(s), size(static_cast<int>(s.size)), elements(size - outside.weighted()) {
    for (per_spacing = 1; per_spacing <= kMostCellsPerSpacing && !usable; ++per_spacing) make(s);
    --per_spacing;
  }

  // Polynomials, as floats one after the other: of functions, and of their derivatives by s.
  struct Polynomials {
    Array<float> kernel;            // by cell, from `reach` cells left of an element; between kPadding rows of 0
    Array<float> fixed, by_weight;  // the base is fixed + w by_weight, by row; empty where there is none
  };

  // Work that is done once for each neuron, in multiply-adds of a polynomial.
  int64_t work() const { return int64_t{elements} * 2 * reach; }

  const Outside outside;
  const int size, elements;
  bool usable = false;
  int per_spacing;
  int reach;    // of an element, in cells to each side
  int padding;  // for four neighboring elements to be taken at once
  Polynomials values, slopes;
  int cells, first_inside, end_inside;  // inside: where kernels are evaluated, everywhere if tails are zero
  int first_element;                    // the cell right of the first element
  int rows, kink_row;                   // the cell with a kink in it has two rows, left and right of the kink
  int first_near;                       // of the kNear rows around the dictionary, or -1 if it has more
  std::vector<int> begin, end;          // the elements that reach a cell

  // Cell n, counted from 0, has its center at n * (width_high + width_low) + offset.
  float per_cell, minus_offset_in_cells, width_high, width_low, offset, two_per_width;
  float lowest, highest;    // n of the first and the last cell
  float from, to, kink;     // no table beyond these
  bool open;                // whether there is something to compute outside
  double width, left, right;  // the dictionary's ends
  std::vector<double> edge_values[2], edge_slopes[2];  // of the elements, at the left and the right end

  int row_of(int cell) const { return cell + (cell > kink_row); }
  int cell_of(int row) const { return row - (row > kink_row); }
  // From the dictionary's end to the cell's center.
  double beyond(int cell, bool at_right) const { return center(cell) - (at_right ? right : left); }
  double center(int cell) const { return left + (cell - first_element + 0.5) * width; }

 private:
  void make(const Settings& s) {
    const double gamma = s.third, spacing = s.second;
    width = spacing / per_spacing;
    left = s.first;
    right = s.first + (elements - 1) * spacing;
    const double wanted_reach = std::ceil(std::sqrt(-std::log(kVanished) / gamma) / spacing) * per_spacing;
    const double farthest = std::max(std::abs(left), std::abs(right)) / width;
    if (wanted_reach > kMostRows || farthest + kMostRows > kMostCellsFromZero) return;
    reach = static_cast<int>(wanted_reach);
    const bool ends = outside.tails != Tails::kZero;
    open = outside.base != Base::kNone || outside.tails == Tails::kLinear;
    // Where there is something to compute outside, the table is longer, so that few activations miss it.
    const int margin = std::max(ends ? 0 : reach, open ? (elements + 1) / 2 * per_spacing : 0) + 1;
    const int between = (elements - 1) * per_spacing;
    cells = between + 2 * margin;
    if (cells > kMostRows) return;
    first_element = margin;
    first_inside = ends ? margin : 1;
    end_inside = ends ? margin + between : cells - 1;
    usable = fit_kernel(gamma) && fit_base();
    if (!usable) return;
    set_numbers();
    const int within = row_of(first_element + between) - row_of(first_element);
    const int middle = (row_of(first_element + between) + row_of(first_element)) / 2;
    first_near = within <= kNear ? std::max(0, std::min(middle - kNear / 2, rows - kNear)) : -1;
    for (int cell = 0; cell < cells; ++cell) {
      const auto not_before = [&](int at) { return at <= 0 ? 0 : (at + per_spacing - 1) / per_spacing; };
      begin.push_back(not_before(cell - first_element - reach + 1));
      end.push_back(std::min(elements, not_before(cell - first_element + reach + 1)));
    }
    for (int k = 0; k < elements; ++k) {
      for (int side = 0; side < 2; ++side) {
        const double t = (side ? right : left) - (left + k * spacing), value = std::exp(-gamma * t * t);
        edge_values[side].push_back(value);
        edge_slopes[side].push_back(-2 * gamma * t * value);
      }
    }
  }

  bool fit_kernel(double gamma) {
    if (width * std::sqrt(gamma) > 1) return false;  // too wide for the places at which a fit looks to show the peak
    padding = 3 * per_spacing + 1;
    values.kernel.assign(padding * kPowers, 0);
    slopes.kernel = values.kernel;
    for (int i = -reach; i < reach; ++i) {
      const Fit fit = fit_polynomial([&](double t) {
        const double distance = (i + 0.5 + 0.5 * t) * width;
        return std::exp(-gamma * distance * distance);
      });
      if (fit.error > kLargestError || fit.slope_error * 2 / width > kLargestSlopeError * std::sqrt(gamma)) return false;
      append(fit.powers, &Polynomials::kernel);
    }
    for (int i = 0; i < padding; ++i) append(Coefficients{}, &Polynomials::kernel);
    return true;
  }

  bool fit_base() {
    const double at = std::floor(first_element - left / width);
    const bool kinked = has_kink(outside.base) && at >= 0 && at < cells;
    kink_row = kinked ? static_cast<int>(at) : std::numeric_limits<int>::max();
    kink = kinked ? 0 : std::numeric_limits<float>::infinity();
    rows = cells + kinked;
    for (Polynomials* each : {&values, &slopes}) {
      each->fixed.clear();
      each->by_weight.clear();
    }
    if (outside.base == Base::kNone) return true;
    for (int row = 0; row < rows; ++row) {
      const double middle = center(cell_of(row));
      const bool on_the_right = kinked ? row > kink_row : middle > 0;
      const Fit fit = fit_polynomial(
          [&](double t) { return base_value(outside.base, middle + 0.5 * width * t, on_the_right); });
      if (fit.error > kLargestError || fit.slope_error * 2 / width > kLargestSlopeError) return false;
      const Coefficients straight = {middle, 0.5 * width};
      Coefficients difference = fit.powers;
      for (int j = 0; j < kPowers; ++j) difference[j] -= straight[j];
      const bool residual = outside.form == BaseForm::kResidual;
      if (residual || !outside.weighted()) append(residual ? straight : fit.powers, &Polynomials::fixed);
      if (outside.weighted()) append(residual ? difference : fit.powers, &Polynomials::by_weight);
    }
    return true;
  }

  void append(const Coefficients& powers, Array<float> Polynomials::*list) {
    for (int j = 0; j < kPowers; ++j) {
      (values.*list).push_back(static_cast<float>(powers[j]));
      const double next = j + 1 < kPowers ? powers[j + 1] * (j + 1) * 2 / width : 0;
      (slopes.*list).push_back(static_cast<float>(next));
    }
  }

  void set_numbers() {
    const double first = center(0), number = std::nearbyint(first / width);
    per_cell = static_cast<float>(1 / width);
    two_per_width = static_cast<float>(2 / width);
    const double unit = std::ldexp(1.0, std::ilogb(width) - 11);
    width_high = static_cast<float>(std::nearbyint(width / unit) * unit);
    width_low = static_cast<float>(width - width_high);
    offset = static_cast<float>(first - number * width);
    minus_offset_in_cells = static_cast<float>(number - first / width);
    lowest = static_cast<float>(number);
    highest = static_cast<float>(number + cells - 1);
    from = static_cast<float>(first);
    to = static_cast<float>(center(cells - 1));
  }
};
