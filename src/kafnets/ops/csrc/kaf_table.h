// Sums of Gaussians by table, over both memory layouts and several threads.
#pragma once

#include "settings.h"

// Measurements compare the two ways: -1 for the formula, 1 for tables wherever they can be, 0 for the faster one.
void prefer_tables(int preference);

// Whether there are so many activations for each neuron that tables are worth making. Input and output as (batch,
// neurons, positions), contiguous.
bool table_pays(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions);
void table_forward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                   const float* x, const float* coefficients, float* y);
void table_backward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                    const float* x, const float* coefficients, const float* upstream, float* dx, float* dcoefficients);
