"""What all exported C files have in common."""

HEADER = """/* A network as C99, written by kafnets. */
#ifndef {guard}
#define {guard}

#define {NAME}_INPUTS {inputs}
#define {NAME}_OUTPUTS {outputs}
#define {NAME}_CONSTANT_BYTES {size} /* weights and tables */
#define {NAME}_STACK_BYTES {scratch} /* of two rows of activations */

#ifdef __cplusplus
extern "C" {{
#endif
/* One row of inputs to one row of outputs. Nothing is allocated, and nothing is kept between calls. */
void {name}(const float *input, float *output);
#ifdef __cplusplus
}}
#endif

#endif
"""

LOOK_UP = """
/* A polynomial per cell of an even grid; the first and the last cell reach to infinity. */
static void {name}_look_up_{kind}(const {kind} *table, const float *unit, int cells, int powers, int first,
                                  float center, float per_cell, float high, float low, float scale, int width,
                                  int shared, float *s) {{
{ignored}  for (int i = 0; i < width; ++i) {{
    const int f = i / shared;
    const {kind} *own = table + f * powers * cells;
    const float x = s[i] < -1e30f ? -1e30f : s[i] > 1e30f ? 1e30f : s[i];
    const float place = (x - center) * per_cell;
    const float last = (float)(first + cells - 1);
    float n = (float)first, t, result = 0;
    if (place > n) n = place < last ? floorf(place + 0.5f) : last;
    t = ((x - n * high) - (n * low + center)) * scale;
    own += (int)n - first;
    for (int k = powers - 1; k >= 0; --k) result = result * t + (float)own[k * cells]{unit};
    s[i] = result;
  }}
}}
"""

SCALE = """
/* Gaps to the median, then all columns to one scale. */
static void {name}_scale(const float *median, const float *shift, const float *factor, int clipped, int width,
                         float *x) {{
  for (int i = 0; i < width; ++i) {{
    const float z = ((isnan(x[i]) ? median[i] : x[i]) - shift[i]) * factor[i];
    x[i] = clipped ? (float)(z / sqrt(1.0 + (double)z / 3 * ((double)z / 3))) : z;
  }}
}}
"""

SOFTMAX = """
static void {name}_softmax(float scale, int width, float *x) {{
  float largest = x[0], sum = 0;
  for (int i = 1; i < width; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int i = 0; i < width; ++i) sum += x[i] = expf((x[i] - largest) * scale);
  for (int i = 0; i < width; ++i) x[i] /= sum;
}}
"""

BODY = """/* A network as C99, written by kafnets. */
#include "{header}"

#include <math.h>
#include <stdint.h>
#include <string.h>

{tables}
static void {name}_linear(const float *weight, const float *bias, int inputs, int outputs, const float *x,
                          float *y) {{
  for (int o = 0; o < outputs; ++o) {{
    float sum = bias[o];
    for (int i = 0; i < inputs; ++i) sum += weight[o * inputs + i] * x[i];
    y[o] = sum;
  }}
}}

{functions}
#define SWAP() (swap = here, here = there, there = swap)

void {name}(const float *input, float *output) {{
  float first[{widest}], second[{widest}];
  float *here = first, *there = second, *swap;
  memcpy(here, input, sizeof(float) * {NAME}_INPUTS);
{calls}
  memcpy(output, here, sizeof(float) * {NAME}_OUTPUTS);
}}
"""
