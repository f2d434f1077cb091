/* Written by hand in C: training steps of the two smallest networks, and loops that do nothing but
 * move memory. `by_hand.py` compiles this file and calls it.
 *
 * The sizes are constants wherever `train` is inlined, so the compiler unrolls the loops for each
 * network. Sums run in vectors of 16 floats, written out: without permission to reorder additions
 * (-ffast-math, which is not given) a compiler leaves a sum of floats sequential.
 */

#include <stddef.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define LANES 16
#define MAX_BATCH 32
#define MAX_WIDTH 64
#define ROWS 8
#define ALWAYS static inline __attribute__((always_inline))

/* Sixteen floats, wherever they lie; a compiler splits them into the machine's own vectors. */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static const float RATE = 0.01f; /* SGD_RATE in mlp.py */

ALWAYS float total_of(lanes v) {
    float sum = 0;
    for (int i = 0; i < LANES; i++) sum += v[i];
    return sum;
}

/* c (m, n) = a (m, k) times b (k, n), plus a bias of n where there is one. The strides of `a` say
 * whether it is read transposed. n is a multiple of LANES. Up to ROWS rows share each load of b. */
ALWAYS void multiply(int m, int n, int k, const float *a, int a_row, int a_column, const float *b,
                     const float *bias, float *c) {
    const int rows = m % ROWS == 0 ? ROWS : m % 2 == 0 ? 2 : 1;
    for (int i = 0; i < m; i += rows)
        for (int j = 0; j < n; j += LANES) {
            lanes sums[ROWS];
            for (int r = 0; r < rows; r++)
                sums[r] = bias ? *(const lanes *)(bias + j) : (lanes){0};
            for (int l = 0; l < k; l++) {
                const lanes row = *(const lanes *)(b + l * n + j);
                for (int r = 0; r < rows; r++)
                    sums[r] += a[(i + r) * a_row + l * a_column] * row;
            }
            for (int r = 0; r < rows; r++) *(lanes *)(c + (i + r) * n + j) = sums[r];
        }
}

ALWAYS void relu(int count, float *x) {
    for (int i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

/* The gradient of what entered a relu: g where something came out. */
ALWAYS void relu_gradient(int count, const float *y, float *g) {
    for (int i = 0; i < count; i++) g[i] = y[i] > 0 ? g[i] : 0;
}

ALWAYS void column_sums(int m, int n, const float *x, float *sums) {
    for (int j = 0; j < n; j += LANES) {
        lanes sum = {0};
        for (int i = 0; i < m; i++) sum += *(const lanes *)(x + i * n + j);
        *(lanes *)(sums + j) = sum;
    }
}

/* One step of SGD for the network 2-width-width-1 with relu, under the mean squared error, which it
 * returns. p holds w1 (2, width), b1, w2 (width, width), b2, w3 (width), b3. */
ALWAYS float train(int batch, int width, float *p, const float *x, const float *y) {
    const int b1 = 2 * width, w2 = b1 + width, b2 = w2 + width * width, w3 = b2 + width,
              b3 = w3 + width, count = b3 + 1;
    float h1[MAX_BATCH * MAX_WIDTH], h2[MAX_BATCH * MAX_WIDTH]; /* what leaves each layer */
    float g1[MAX_BATCH * MAX_WIDTH], g2[MAX_BATCH * MAX_WIDTH]; /* and its gradient */
    float w2_transposed[MAX_WIDTH * MAX_WIDTH];
    float g[MAX_WIDTH * MAX_WIDTH + 5 * MAX_WIDTH + 1]; /* of the parameters, laid out as they */

    multiply(batch, width, 2, x, 2, 1, p, p + b1, h1);
    relu(batch * width, h1);
    multiply(batch, width, width, h1, width, 1, p + w2, p + b2, h2);
    relu(batch * width, h2);

    float loss = 0;
    lanes g_w3[MAX_WIDTH / LANES] = {{0}};
    g[b3] = 0;
    for (int i = 0; i < batch; i++) {
        lanes products = {0};
        for (int j = 0; j < width; j += LANES)
            products += *(const lanes *)(h2 + i * width + j) * *(const lanes *)(p + w3 + j);
        const float difference = total_of(products) + p[b3] - y[i];
        const float g_out = difference * (2.0f / batch);
        loss += difference * difference;
        g[b3] += g_out;
        for (int j = 0; j < width; j += LANES) {
            g_w3[j / LANES] += g_out * *(const lanes *)(h2 + i * width + j);
            *(lanes *)(g2 + i * width + j) = g_out * *(const lanes *)(p + w3 + j);
        }
    }
    for (int j = 0; j < width; j += LANES) *(lanes *)(g + w3 + j) = g_w3[j / LANES];

    relu_gradient(batch * width, h2, g2);
    multiply(width, width, batch, h1, 1, width, g2, NULL, g + w2);
    column_sums(batch, width, g2, g + b2);
    for (int i = 0; i < width; i++)
        for (int j = 0; j < width; j++) w2_transposed[j * width + i] = p[w2 + i * width + j];
    multiply(batch, width, width, g2, width, 1, w2_transposed, NULL, g1);
    relu_gradient(batch * width, h1, g1);
    multiply(2, width, batch, x, 1, 2, g1, NULL, g);
    column_sums(batch, width, g1, g + b1);

    for (int i = 0; i < count; i++) p[i] -= RATE * g[i];
    return loss / batch;
}

float train_16(float *p, const float *x, const float *y) { return train(1, 16, p, x, y); }
float train_64(float *p, const float *x, const float *y) { return train(32, 64, p, x, y); }

/* The fastest ways to read two arrays and write a third: through the caches, and past them. */
void move(size_t count, const float *x, const float *y, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = x[i] + y[i];
}

void move_past_caches(size_t count, const float *x, const float *y, float *out) {
    size_t i = 0;
#if defined(__SSE__)
    for (; i < count && (size_t)(out + i) % 16; i++) out[i] = x[i] + y[i];
    for (; i + 4 <= count; i += 4)
        _mm_stream_ps(out + i, _mm_add_ps(_mm_loadu_ps(x + i), _mm_loadu_ps(y + i)));
    _mm_sfence();
#endif
    for (; i < count; i++) out[i] = x[i] + y[i];
}

/* The fastest way to read an array. */
float read_all(size_t count, const float *x) {
    lanes sums[4] = {{0}};
    size_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        for (int s = 0; s < 4; s++) sums[s] += *(const lanes *)(x + i + s * LANES);
    float sum = total_of(sums[0] + sums[1] + sums[2] + sums[3]);
    for (; i < count; i++) sum += x[i];
    return sum;
}

/* --- the same for Python, where its headers are found: a call costs a fraction of ctypes' --- */

#if defined(WITH_PYTHON)
#include <Python.h>

typedef float (*Train)(float *, const float *, const float *);

static PyObject *call(Train train_step, PyObject *const *arrays, Py_ssize_t count) {
    Py_buffer views[3];
    PyObject *result = NULL;
    int held = 0;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected parameters, inputs, targets");
    for (; held < 3; held++)
        if (PyObject_GetBuffer(arrays[held], &views[held], held ? PyBUF_SIMPLE : PyBUF_WRITABLE))
            goto release;
    result = PyFloat_FromDouble(train_step(views[0].buf, views[1].buf, views[2].buf));
release:
    while (held) PyBuffer_Release(&views[--held]);
    return result;
}

static PyObject *call_16(PyObject *self, PyObject *const *arrays, Py_ssize_t count) {
    (void)self;
    return call(train_16, arrays, count);
}

static PyObject *call_64(PyObject *self, PyObject *const *arrays, Py_ssize_t count) {
    (void)self;
    return call(train_64, arrays, count);
}

static PyMethodDef methods[] = {
    {"train_16", (PyCFunction)(void (*)(void))call_16, METH_FASTCALL, "2-16-16-1, batch 1"},
    {"train_64", (PyCFunction)(void (*)(void))call_64, METH_FASTCALL, "2-64-64-1, batch 32"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "by_hand", NULL, -1, methods};

PyMODINIT_FUNC PyInit_by_hand(void) { return PyModule_Create(&module); }
#endif
