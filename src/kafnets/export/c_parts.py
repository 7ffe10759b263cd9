"""What all exported C files have in common."""

LARGEST_GRID = 64
"""Of a 2D-KAF, along each axis."""

HEADER = """/* A network as C99, written by kafnets. */
#ifndef {NAME}_H
#define {NAME}_H

#define {NAME}_INPUTS {inputs}
#define {NAME}_OUTPUTS {outputs}
#define {NAME}_CONSTANT_BYTES {size} /* weights and tables */
#define {NAME}_STACK_BYTES {scratch} /* of two rows of activations */

#ifdef __cplusplus
extern "C" {{
#endif
/* One row of inputs to one row of outputs; images by channel, then by line.
   Nothing is allocated, and nothing is kept between calls. */
void {name}(const float *input, float *output);
#ifdef __cplusplus
}}
#endif

#endif
"""

LOOK_UP = """
/* A polynomial per cell of an even grid; the first and the last cell reach to infinity. */
static void {name}_look_up_{kind}(const {kind} *table, const float *unit, const float *hinge, int cells,
                                  int powers, int first, float center, float per_cell, float high, float low,
                                  float scale, int width, int shared, float *s) {{
{ignored}  for (int i = 0; i < width; ++i) {{
    const int f = i / shared;
    const {kind} *own = table + f * powers * cells;
    const float x = s[i] < -1e30f ? -1e30f : s[i] > 1e30f ? 1e30f : s[i];
    const float place = (x - center) * per_cell;
    const float last = (float)(first + cells - 1);
    float n = (float)first, t, result = 0;
    if (place > n) n = place < last ? floorf(place + 0.5f) : last;
    t = ((x - n * high) - (n * low + center)) * scale;
    own += ((int)n - first) * powers;
    for (int k = powers - 1; k >= 0; --k) result = result * t + (float)own[k]{unit};
    s[i] = hinge && x > 0 ? result + hinge[f] * x : result;
  }}
}}
"""

PAIRS = """
/* 2D-KAFs: sums of Gaussians of two neighboring channels, on a grid of elements. */
static void {name}_pairs(const float *alpha, const float *elements, float gamma, int size, int pairs,
                         int positions, int shared, const float *x, float *y) {{
  for (int p = 0; p < pairs * positions; ++p) {{
    const float *s = x + p / positions * 2 * positions + p % positions;
    const float *own = alpha + p / shared * size * size;
    float kernel[{largest}], result = 0;
    for (int j = 0; j < size; ++j) {{
      const float distance = s[positions] - elements[j];
      kernel[j] = expf(-gamma * distance * distance);
    }}
    for (int i = 0; i < size; ++i) {{
      const float distance = *s - elements[i];
      float row = 0;
      for (int j = 0; j < size; ++j) row += own[i * size + j] * kernel[j];
      result += row * expf(-gamma * distance * distance);
    }}
    y[p] = result;
  }}
}}
"""

HINGES = """
/* s or max(0, s), and slopes times distances from places, the first ones to the right of them. */
static void {name}_hinges(const float *table, int hinges, int right, int rectified, int width, int shared,
                          float *s) {{
  for (int i = 0; i < width; ++i) {{
    const float *slope = table + i / shared * 2 * hinges, *place = slope + hinges;
    float result = rectified && s[i] < 0 ? 0 : s[i];
    for (int k = 0; k < hinges; ++k) {{
      const float distance = k < right ? s[i] - place[k] : place[k] - s[i];
      if (distance > 0) result += slope[k] * distance;
    }}
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

LINEAR = """
static void {name}_linear(const float *weight, const float *bias, int inputs, int outputs, const float *x,
                          float *y) {{
  for (int o = 0; o < outputs; ++o) {{
    float sum = bias[o];
    for (int i = 0; i < inputs; ++i) sum += weight[o * inputs + i] * x[i];
    y[o] = sum;
  }}
}}
"""

WINDOW = """
/* What slides over an image; padding is by zeros, and each group of channels stays by itself. */
typedef struct {{
  int channels, height, width, outputs, rows, columns, kernel_height, kernel_width, stride_y, stride_x,
      dilation_y, dilation_x, padding_y, padding_x, groups;
}} {name}_window;
"""

CONVOLUTION = """
/* A weight at a time, for all places where it meets the image: so that compilers find vectors. */
static void {name}_convolution(const {name}_window *w, const float *weight, const float *bias, const float *x,
                               float *y) {{
  const int inputs = w->channels / w->groups, outputs = w->outputs / w->groups;
  for (int o = 0; o < w->outputs; ++o, y += w->rows * w->columns) {{
    const float *image = x + o / outputs * inputs * w->height * w->width;
    for (int i = 0; i < w->rows * w->columns; ++i) y[i] = bias[o];
    for (int c = 0; c < inputs; ++c, image += w->height * w->width) {{
      for (int i = 0; i < w->kernel_height; ++i) {{
        for (int j = 0; j < w->kernel_width; ++j) {{
          const int left = j * w->dilation_x - w->padding_x;
          const float factor = *weight++;
          int from = 0, to = w->columns;
          while (from < to && from * w->stride_x + left < 0) ++from;
          while (from < to && (to - 1) * w->stride_x + left >= w->width) --to;
          for (int row = 0; row < w->rows; ++row) {{
            const int v = row * w->stride_y - w->padding_y + i * w->dilation_y;
            if (v < 0 || v >= w->height) continue;
            for (int column = from; column < to; ++column) {{
              y[row * w->columns + column] += factor * image[v * w->width + column * w->stride_x + left];
            }}
          }}
        }}
      }}
    }}
  }}
}}
"""

POOLING = """
/* The {kind} value of each window. */
static void {name}_{kind}(const {name}_window *w, const float *x, float *y) {{
  for (int c = 0; c < w->channels; ++c, x += w->height * w->width) {{
    for (int row = 0; row < w->rows; ++row) {{
      for (int column = 0; column < w->columns; ++column) {{
        float result = {start};
        for (int i = 0; i < w->kernel_height; ++i) {{
          for (int j = 0; j < w->kernel_width; ++j) {{
            const int v = row * w->stride_y - w->padding_y + i * w->dilation_y;
            const int u = column * w->stride_x - w->padding_x + j * w->dilation_x;
            if (v < 0 || v >= w->height || u < 0 || u >= w->width) continue;
            const float s = x[v * w->width + u];
            {update}
          }}
        }}
        *y++ = result{end};
      }}
    }}
  }}
}}
"""

AFFINE = """
static void {name}_affine(const float *factor, const float *shift, int channels, int positions, float *x) {{
  for (int i = 0; i < channels * positions; ++i) x[i] = x[i] * factor[i / positions] + shift[i / positions];
}}
"""

BODY = """/* A network as C99, written by kafnets. */
#include "{header}"

#include <math.h>
#include <stdint.h>
#include <string.h>

{functions}
{tables}
#define SWAP() (swap = here, here = there, there = swap)

void {name}(const float *input, float *output) {{
  float first[{widest}], second[{widest}];
  float *here = first, *there = second, *swap = there;
  (void)swap;
  memcpy(here, input, sizeof(float) * {NAME}_INPUTS);
{calls}
  memcpy(output, here, sizeof(float) * {NAME}_OUTPUTS);
}}
"""

PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "LINEAR": (LINEAR, {}),
    "WINDOW": (WINDOW, {}),
    "CONVOLUTION": (CONVOLUTION, {}),
    "LARGEST": (
        POOLING,
        {
            "kind": "largest",
            "start": "-INFINITY",
            "update": "if (s > result || isnan(s)) result = s;",
            "end": "",
        },
    ),
    "MEAN": (
        POOLING,
        {
            "kind": "mean",
            "start": "0",
            "update": "result += s;",
            "end": " / (float)(w->kernel_height * w->kernel_width)",
        },
    ),
    "AFFINE": (AFFINE, {}),
    "SCALE": (SCALE, {}),
    "SOFTMAX": (SOFTMAX, {}),
    "HINGES": (HINGES, {}),
    "PAIRS": (PAIRS, {"largest": str(LARGEST_GRID)}),
    "LOOK_UP_float": (LOOK_UP, {"kind": "float", "unit": "", "ignored": "  (void)unit;\n"}),
    "LOOK_UP_int8_t": (LOOK_UP, {"kind": "int8_t", "unit": " * unit[f * powers + k]", "ignored": ""}),
}
"""Functions that layers call, in the order in which they are written: a text, and what stands in it."""


def part(name: str, prefix: str) -> str:
    """One of these, for a file whose names begin with ``prefix``."""
    text, values = PARTS[name]
    return text.format(name=prefix, **values)
