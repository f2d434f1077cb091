/* GradBench's problems with objective and derivative by hand, as one writes them in C: plain loops,
 * no library. Matrices are row-major, all numbers double. `by_hand.py` compiles and calls this. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;

static double *numbers(i64 count) { return calloc(count ? count : 1, sizeof(double)); }

/* ---- lse ---- */

double lse_value(i64 n, const double *x) {
    double top = x[0], sum = 0;
    for (i64 i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (i64 i = 0; i < n; i++) sum += exp(x[i] - top);
    return top + log(sum);
}

void lse_gradient(i64 n, const double *x, double *g) {
    double top = x[0], sum = 0;
    for (i64 i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (i64 i = 0; i < n; i++) sum += g[i] = exp(x[i] - top);
    for (i64 i = 0; i < n; i++) g[i] /= sum;
}

/* ---- kmeans: the Hessian is twice the number of points of each centre ---- */

static i64 nearest(i64 k, i64 d, const double *p, const double *c, double *distance) {
    i64 best = 0;
    *distance = INFINITY;
    for (i64 j = 0; j < k; j++) {
        double sum = 0;
        for (i64 t = 0; t < d; t++) sum += (p[t] - c[j * d + t]) * (p[t] - c[j * d + t]);
        if (sum < *distance) *distance = sum, best = j;
    }
    return best;
}

double kmeans_cost(i64 n, i64 k, i64 d, const double *p, const double *c) {
    double sum = 0, distance;
    for (i64 i = 0; i < n; i++) nearest(k, d, p + i * d, c, &distance), sum += distance;
    return sum;
}

void kmeans_direction(i64 n, i64 k, i64 d, const double *p, const double *c, double *g) {
    double *count = numbers(k), distance;
    memset(g, 0, k * d * sizeof(double));
    for (i64 i = 0; i < n; i++) {
        i64 j = nearest(k, d, p + i * d, c, &distance);
        for (i64 t = 0; t < d; t++) g[j * d + t] += 2 * (c[j * d + t] - p[i * d + t]);
        count[j]++;
    }
    for (i64 j = 0; j < k; j++)
        for (i64 t = 0; t < d; t++) g[j * d + t] /= 2 * count[j];
    free(count);
}

/* ---- llsq ---- */

double llsq_value(i64 m, i64 n, const double *x) {
    double sum = 0;
    for (i64 i = 0; i < n; i++) {
        double t = -1 + 2.0 * i / (n - 1), r = (t > 0) - (t < 0), power = 1;
        for (i64 j = 0; j < m; j++) r -= x[j] * power, power *= t;
        sum += r * r;
    }
    return sum / 2;
}

void llsq_gradient(i64 m, i64 n, const double *x, double *g) {
    memset(g, 0, m * sizeof(double));
    for (i64 i = 0; i < n; i++) {
        double t = -1 + 2.0 * i / (n - 1), r = (t > 0) - (t < 0), power = 1;
        for (i64 j = 0; j < m; j++) r -= x[j] * power, power *= t;
        power = 1;
        for (i64 j = 0; j < m; j++) g[j] -= r * power, power *= t;
    }
}

/* ---- det: along the first row, minors by the list of their columns ---- */

static double minor_value(i64 n, i64 row, const double *A, const int *columns) {
    i64 width = n - row;
    if (width == 1) return A[row * n + columns[0]];
    int left[16];
    double sum = 0;
    for (i64 j = 0; j < width; j++) {
        for (i64 i = 0, to = 0; i < width; i++)
            if (i != j) left[to++] = columns[i];
        double term = A[row * n + columns[j]] * minor_value(n, row + 1, A, left);
        sum += j % 2 ? -term : term;
    }
    return sum;
}

/* Adds `seed` times the derivative of a minor to g, and returns the minor. */
static double minor_gradient(i64 n, i64 row, const double *A, const int *columns, double seed, double *g) {
    i64 width = n - row;
    if (width == 1) {
        g[row * n + columns[0]] += seed;
        return A[row * n + columns[0]];
    }
    int left[16];
    double sum = 0;
    for (i64 j = 0; j < width; j++) {
        for (i64 i = 0, to = 0; i < width; i++)
            if (i != j) left[to++] = columns[i];
        double sign = j % 2 ? -1 : 1, a = A[row * n + columns[j]];
        double value = minor_gradient(n, row + 1, A, left, seed * sign * a, g);
        g[row * n + columns[j]] += seed * sign * value;
        sum += sign * a * value;
    }
    return sum;
}

static const int FIRST[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

double det_value(i64 n, const double *A) { return minor_value(n, 0, A, FIRST); }

void det_gradient(i64 n, const double *A, double *g) {
    memset(g, 0, n * n * sizeof(double));
    minor_gradient(n, 0, A, FIRST, 1, g);
}

/* ---- ode ---- */

static void slope(i64 n, const double *x, const double *y, double *k) {
    k[0] = x[0];
    for (i64 i = 1; i < n; i++) k[i] = x[i] * y[i - 1];
}

/* The cotangent of k goes to those of x and, times `scale`, of y. */
static void slope_back(i64 n, const double *x, const double *y, const double *k_bar, double *x_bar, double *y_bar) {
    x_bar[0] += k_bar[0];
    for (i64 i = 1; i < n; i++) x_bar[i] += k_bar[i] * y[i - 1];
    for (i64 i = 1; i < n; i++) y_bar[i - 1] = k_bar[i] * x[i];
    y_bar[n - 1] = 0;
}

static void at(i64 n, const double *y, double h, const double *k, double *to) {
    for (i64 i = 0; i < n; i++) to[i] = y[i] + h * k[i];
}

void ode_value(i64 n, i64 s, const double *x, double *y) {
    double *k = numbers(5 * n), h = 2.0 / s, *k1 = k, *k2 = k + n, *k3 = k + 2 * n, *k4 = k + 3 * n, *z = k + 4 * n;
    memset(y, 0, n * sizeof(double));
    for (i64 step = 0; step < s; step++) {
        slope(n, x, y, k1);
        at(n, y, h / 2, k1, z), slope(n, x, z, k2);
        at(n, y, h / 2, k2, z), slope(n, x, z, k3);
        at(n, y, h, k3, z), slope(n, x, z, k4);
        for (i64 i = 0; i < n; i++) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    free(k);
}

void ode_gradient(i64 n, i64 s, const double *x, double *x_bar) {
    double *kept = numbers((s + 1) * n), *work = numbers(11 * n), h = 2.0 / s;
    double *k1 = work, *k2 = work + n, *k3 = work + 2 * n, *k4 = work + 3 * n;
    double *y2 = work + 4 * n, *y3 = work + 5 * n, *y4 = work + 6 * n;
    double *y_bar = work + 7 * n, *k_bar = work + 8 * n, *z_bar = work + 9 * n, *sum = work + 10 * n;
    for (i64 step = 0; step < s; step++) {
        double *y = kept + step * n, *next = y + n;
        slope(n, x, y, k1);
        at(n, y, h / 2, k1, y2), slope(n, x, y2, k2);
        at(n, y, h / 2, k2, y3), slope(n, x, y3, k3);
        at(n, y, h, k3, y4), slope(n, x, y4, k4);
        for (i64 i = 0; i < n; i++) next[i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    memset(x_bar, 0, n * sizeof(double));
    y_bar[n - 1] = 1;
    for (i64 step = s - 1; step >= 0; step--) {
        double *y = kept + step * n;
        slope(n, x, y, k1);
        at(n, y, h / 2, k1, y2), slope(n, x, y2, k2);
        at(n, y, h / 2, k2, y3), slope(n, x, y3, k3);
        at(n, y, h, k3, y4);
        for (i64 i = 0; i < n; i++) k_bar[i] = h / 6 * y_bar[i];
        slope_back(n, x, y4, k_bar, x_bar, z_bar);
        for (i64 i = 0; i < n; i++) sum[i] = z_bar[i], k_bar[i] = h / 3 * y_bar[i] + h * z_bar[i];
        slope_back(n, x, y3, k_bar, x_bar, z_bar);
        for (i64 i = 0; i < n; i++) sum[i] += z_bar[i], k_bar[i] = h / 3 * y_bar[i] + h / 2 * z_bar[i];
        slope_back(n, x, y2, k_bar, x_bar, z_bar);
        for (i64 i = 0; i < n; i++) sum[i] += z_bar[i], k_bar[i] = h / 6 * y_bar[i] + h / 2 * z_bar[i];
        slope_back(n, x, y, k_bar, x_bar, z_bar);
        for (i64 i = 0; i < n; i++) y_bar[i] += sum[i] + z_bar[i];
    }
    free(kept), free(work);
}

/* ---- gmm: l holds the triangles below the diagonals, column after column ---- */

static double log_wishart(i64 d, i64 k, const double *q, const double *l, double m, double gamma) {
    double nu = d + m + 1, squares = 0, sum = 0, constant = nu * d * log(gamma / sqrt(2));
    constant -= d * (d - 1) / 4.0 * log(M_PI);
    for (i64 j = 1; j <= d; j++) constant -= lgamma(nu / 2 + (1 - j) / 2.0);
    for (i64 i = 0; i < k * d; i++) squares += exp(q[i]) * exp(q[i]), sum += q[i];
    for (i64 i = 0; i < k * (d * (d - 1) / 2); i++) squares += l[i] * l[i];
    return k * constant + m * sum - gamma * gamma / 2 * squares;
}

/* y = Q (x - mu), and its squared length */
static double apart(i64 d, const double *x, const double *mu, const double *e, const double *l, double *away, double *y) {
    double squares = 0;
    for (i64 j = 0; j < d; j++) away[j] = x[j] - mu[j], y[j] = e[j] * away[j];
    for (i64 j = 0; j < d; j++)
        for (i64 r = j + 1; r < d; r++) y[r] += *l++ * away[j];
    for (i64 j = 0; j < d; j++) squares += y[j] * y[j];
    return squares;
}

/* Also the gradient, where g_alpha is not null. */
static double gmm(i64 d, i64 k, i64 n, const double *alpha, const double *mu, const double *q, const double *l,
                  const double *x, double m, double gamma, double *g_alpha, double *g_mu, double *g_q, double *g_l) {
    i64 below = d * (d - 1) / 2;
    double *e = numbers(k * d), *level = numbers(k), *terms = numbers(k), *away = numbers(k * d), *y = numbers(k * d), total = 0;
    for (i64 i = 0; i < k * d; i++) e[i] = exp(q[i]);
    for (i64 c = 0; c < k; c++) {
        level[c] = alpha[c];
        for (i64 j = 0; j < d; j++) level[c] += q[c * d + j];
    }
    if (g_alpha) {
        memset(g_mu, 0, k * d * sizeof(double));
        for (i64 c = 0; c < k; c++) g_alpha[c] = -n * exp(alpha[c] - lse_value(k, alpha));
        for (i64 i = 0; i < k * d; i++) g_q[i] = m - gamma * gamma * e[i] * e[i];
        for (i64 i = 0; i < k * below; i++) g_l[i] = -gamma * gamma * l[i];
    }
    for (i64 i = 0; i < n; i++) {
        for (i64 c = 0; c < k; c++)
            terms[c] = level[c] - apart(d, x + i * d, mu + c * d, e + c * d, l + c * below, away + c * d, y + c * d) / 2;
        double value = lse_value(k, terms);
        total += value;
        if (!g_alpha) continue;
        for (i64 c = 0; c < k; c++) {
            double p = exp(terms[c] - value), *Y = y + c * d, *D = away + c * d;
            const double *L = l + c * below;
            double *G = g_l + c * below;
            g_alpha[c] += p;
            for (i64 j = 0; j < d; j++) {
                double sum = e[c * d + j] * Y[j];
                g_q[c * d + j] += p * (1 - sum * D[j]);
                for (i64 r = j + 1; r < d; r++) {
                    sum += *L++ * Y[r];
                    *G++ -= p * Y[r] * D[j];
                }
                g_mu[c * d + j] += p * sum;
            }
        }
    }
    total -= n * (d / 2.0 * log(2 * M_PI) + lse_value(k, alpha));
    free(e), free(level), free(terms), free(away), free(y);
    return total + log_wishart(d, k, q, l, m, gamma);
}

double gmm_value(i64 d, i64 k, i64 n, const double *alpha, const double *mu, const double *q, const double *l,
                 const double *x, double m, double gamma) {
    return gmm(d, k, n, alpha, mu, q, l, x, m, gamma, NULL, NULL, NULL, NULL);
}

void gmm_gradient(i64 d, i64 k, i64 n, const double *alpha, const double *mu, const double *q, const double *l,
                  const double *x, double m, double gamma, double *g_alpha, double *g_mu, double *g_q, double *g_l) {
    gmm(d, k, n, alpha, mu, q, l, x, m, gamma, g_alpha, g_mu, g_q, g_l);
}

/* ---- ba ---- */

static void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* The error of an observation, and its derivatives by camera, point and weight where J is not null. */
static void observe(const double *cam, const double *X, double w, const double *feat, double *error, double *J) {
    double Y[3], Z[3], R[9] = {0}, by_r[9] = {0};
    for (int i = 0; i < 3; i++) Y[i] = X[i] - cam[3 + i];
    double square = cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2];
    if (square > 0) {
        double theta = sqrt(square), c = cos(theta), s = sin(theta), a[3], x[3];
        for (int i = 0; i < 3; i++) a[i] = cam[i] / theta;
        double dot = a[0] * Y[0] + a[1] * Y[1] + a[2] * Y[2];
        cross(a, Y, x);
        for (int i = 0; i < 3; i++) Z[i] = Y[i] * c + x[i] * s + a[i] * dot * (1 - c);
        if (J)
            for (int k = 0; k < 3; k++) {
                double unit[3] = {k == 0, k == 1, k == 2}, turned[3], da[3], dx[3];
                cross(a, unit, turned);
                for (int i = 0; i < 3; i++) {
                    R[3 * i + k] = unit[i] * c + turned[i] * s + a[i] * a[k] * (1 - c);
                    da[i] = (unit[i] - a[i] * a[k]) / theta;
                }
                cross(da, Y, dx);
                double ddot = da[0] * Y[0] + da[1] * Y[1] + da[2] * Y[2];
                for (int i = 0; i < 3; i++)
                    by_r[3 * i + k] = a[k] * (-Y[i] * s + x[i] * c + a[i] * dot * s) + dx[i] * s +
                                      (da[i] * dot + a[i] * ddot) * (1 - c);
            }
    } else {
        cross(cam, Y, Z);
        for (int i = 0; i < 3; i++) Z[i] += Y[i];
        if (J)
            for (int k = 0; k < 3; k++) {
                double unit[3] = {k == 0, k == 1, k == 2}, turned[3], dx[3];
                cross(cam, unit, turned), cross(unit, Y, dx);
                for (int i = 0; i < 3; i++) R[3 * i + k] = unit[i] + turned[i], by_r[3 * i + k] = dx[i];
            }
    }
    double u[2] = {Z[0] / Z[2], Z[1] / Z[2]}, s = u[0] * u[0] + u[1] * u[1];
    double L = 1 + cam[9] * s + cam[10] * s * s, f = cam[6];
    for (int i = 0; i < 2; i++) error[i] = w * (f * u[i] * L + cam[7 + i] - feat[i]);
    if (!J) return;
    for (int k = 0; k < 6; k++) {
        const double *D = k < 3 ? by_r + k : R + k - 3;
        double du[2] = {(D[0] - u[0] * D[6]) / Z[2], (D[3] - u[1] * D[6]) / Z[2]};
        double dL = 2 * (cam[9] + 2 * cam[10] * s) * (u[0] * du[0] + u[1] * du[1]);
        for (int i = 0; i < 2; i++) {
            double d = w * f * (L * du[i] + u[i] * dL);
            if (k < 3)
                J[15 * i + k] = d;
            else
                J[15 * i + k] = -d, J[15 * i + 8 + k] = d;
        }
    }
    for (int i = 0; i < 2; i++) {
        J[15 * i + 6] = w * u[i] * L;
        J[15 * i + 7] = i == 0 ? w : 0;
        J[15 * i + 8] = i == 1 ? w : 0;
        J[15 * i + 9] = w * f * u[i] * s;
        J[15 * i + 10] = w * f * u[i] * s * s;
        J[15 * i + 14] = f * u[i] * L + cam[7 + i] - feat[i];
    }
}

void ba_value(i64 p, const double *cams, const double *X, const double *w, const double *feats, const i64 *by,
              const i64 *seen, double *errors, double *w_errors) {
    for (i64 i = 0; i < p; i++) {
        observe(cams + 11 * by[i], X + 3 * seen[i], w[i], feats + 2 * i, errors + 2 * i, NULL);
        w_errors[i] = 1 - w[i] * w[i];
    }
}

void ba_jacobian(i64 n, i64 m, i64 p, const double *cams, const double *X, const double *w, const double *feats,
                 const i64 *by, const i64 *seen, i64 *rows, i64 *cols, double *vals) {
    double error[2];
    for (i64 i = 0; i < p; i++) {
        observe(cams + 11 * by[i], X + 3 * seen[i], w[i], feats + 2 * i, error, vals + 30 * i);
        for (i64 row = 0; row < 2; row++) {
            i64 *to = cols + 30 * i + 15 * row;
            rows[2 * i + row] = 30 * i + 15 * row;
            for (i64 j = 0; j < 11; j++) to[j] = 11 * by[i] + j;
            for (i64 j = 0; j < 3; j++) to[11 + j] = 11 * n + 3 * seen[i] + j;
            to[14] = 11 * n + 3 * m + i;
        }
        rows[2 * p + i] = 30 * p + i;
        cols[30 * p + i] = 11 * n + 3 * m + i;
        vals[30 * p + i] = -2 * w[i];
    }
    rows[3 * p] = 31 * p;
}

/* ---- ht: bones move by matrices of three rows and four columns, the fourth of which is a shift ---- */

enum { BONES = 22, ANGLES = 20 };

static void multiply(const double *a, const double *b, int affine, double *c) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            double sum = affine && j == 3 ? a[4 * i + 3] : 0;
            for (int t = 0; t < 3; t++) sum += a[4 * i + t] * b[4 * t + j];
            c[4 * i + j] = sum;
        }
}

/* Rz Ry Rx, or its derivative by one of the angles x, z, y; -1 for none. */
static void euler(const double *angles, int by, double *r) {
    double c[3], s[3], a[12] = {0}, b[12] = {0}, d[12] = {0}, both[12];
    for (int i = 0; i < 3; i++) c[i] = cos(angles[i]), s[i] = sin(angles[i]);
    for (int i = 0; i < 3; i++)
        if (i == by) {
            double old = c[i];
            c[i] = -s[i], s[i] = old;
        }
    a[0] = by != 0, a[5] = c[0], a[6] = -s[0], a[9] = s[0], a[10] = c[0];  /* x */
    b[10] = by != 1, b[0] = c[1], b[1] = -s[1], b[4] = s[1], b[5] = c[1];  /* z */
    d[5] = by != 2, d[0] = c[2], d[2] = s[2], d[8] = -s[2], d[10] = c[2];  /* y */
    multiply(b, d, 0, both), multiply(both, a, 0, r);
}

/* The matrix of a rotation vector, and where `by` is not null its three derivatives. */
static void turn(const double *r, double *R, double *by) {
    double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    memset(R, 0, 9 * sizeof(double)), R[0] = R[4] = R[8] = 1;
    if (by) memset(by, 0, 27 * sizeof(double));
    if (square <= 1e-8) return;
    double theta = sqrt(square), c = cos(theta), s = sin(theta), a[3] = {r[0] / theta, r[1] / theta, r[2] / theta};
    double X[9] = {0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0};
    for (int i = 0; i < 9; i++) R[i] = c * (i % 4 == 0) + (1 - c) * a[i / 3] * a[i % 3] + s * X[i];
    if (!by) return;
    for (int k = 0; k < 3; k++) {
        double da[3];
        for (int i = 0; i < 3; i++) da[i] = ((i == k) - a[i] * a[k]) / theta;
        double dX[9] = {0, -da[2], da[1], da[2], 0, -da[0], -da[1], da[0], 0};
        for (int i = 0; i < 9; i++)
            by[9 * k + i] = a[k] * (-s * (i % 4 == 0) + s * a[i / 3] * a[i % 3] + c * X[i]) +
                            (1 - c) * (da[i / 3] * a[i % 3] + a[i / 3] * da[i % 3]) + s * dX[i];
    }
}

static void apply(const double *m, const double *v, double *to) {
    for (int i = 0; i < 3; i++) to[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

/* `us` is null for single vertices; J, where it is not null, has 26 columns, or 28 with `us`. */
void ht(i64 V, i64 P, const double *theta, const i64 *parents, const double *base, const double *inverse,
        const double *positions, const double *weights, i64 mirrored, const i64 *corners, const double *us,
        const double *points, double *errors, double *J) {
    static double A[BONES][12], T[BONES][12], dA[BONES][ANGLES][12], dT[BONES][ANGLES][12];
    static int moved[BONES][ANGLES];
    double R[9], dR[27];
    memset(moved, 0, sizeof moved);
    for (int i = 0; i < BONES; i++) {
        double angles[3] = {0, 0, 0}, r[12], relative[12];
        int joint = i - 2, first = -1, count = 0; /* its angles begin at theta[6 + first] */
        if (joint >= 0 && joint % 4 < 3) {
            first = joint % 4 == 0 ? joint : joint + 1;
            count = joint % 4 == 0 ? 2 : 1;
            for (int t = 0; t < count; t++) angles[t] = theta[6 + first + t];
        }
        i64 parent = parents[i];
        euler(angles, -1, r), multiply(base + 16 * i, r, 1, relative);
        if (parent < 0)
            memcpy(A[i], relative, sizeof relative);
        else
            multiply(A[parent], relative, 1, A[i]);
        multiply(A[i], inverse + 16 * i, 1, T[i]);
        for (int a = 0; J && a < ANGLES; a++) {
            if (a >= first && a < first + count && first >= 0) {
                euler(angles, a - first, r), multiply(base + 16 * i, r, 0, relative);
                if (parent < 0)
                    memcpy(dA[i][a], relative, sizeof relative);
                else
                    multiply(A[parent], relative, 0, dA[i][a]);
                moved[i][a] = 1;
                multiply(dA[i][a], inverse + 16 * i, 1, dT[i][a]);
            } else if (parent >= 0 && moved[parent][a]) {
                multiply(dA[parent][a], relative, 1, dA[i][a]);
                moved[i][a] = 1;
                multiply(dA[i][a], inverse + 16 * i, 1, dT[i][a]);
            }
        }
    }
    turn(theta, R, J ? dR : NULL);
    i64 width = 3 + 3 * (3 + ANGLES);
    double *found = numbers(V * (J ? width : 3)); /* of each vertex: its place, and 23 derivatives */
    for (i64 v = 0; v < V; v++) {
        const double *p = positions + 4 * v;
        double x[3] = {0, 0, 0}, d[ANGLES][3] = {{0}}, *to = found + v * (J ? width : 3);
        for (int i = 0; i < BONES; i++) {
            double w = weights[v * BONES + i];
            if (w == 0) continue;
            for (int t = 0; t < 3; t++)
                x[t] += w * (T[i][4 * t] * p[0] + T[i][4 * t + 1] * p[1] + T[i][4 * t + 2] * p[2] + T[i][4 * t + 3] * p[3]);
            for (int a = 0; J && a < ANGLES; a++) {
                if (!moved[i][a]) continue;
                const double *m = dT[i][a];
                for (int t = 0; t < 3; t++)
                    d[a][t] += w * (m[4 * t] * p[0] + m[4 * t + 1] * p[1] + m[4 * t + 2] * p[2] + m[4 * t + 3] * p[3]);
            }
        }
        if (mirrored) x[0] = -x[0];
        apply(R, x, to);
        for (int t = 0; t < 3; t++) to[t] += theta[3 + t];
        if (!J) continue;
        for (int k = 0; k < 3; k++) apply(dR + 9 * k, x, to + 3 + 3 * k);
        for (int a = 0; a < ANGLES; a++) {
            if (mirrored) d[a][0] = -d[a][0];
            apply(R, d[a], to + 12 + 3 * a);
        }
    }
    for (i64 i = 0; i < P; i++) {
        i64 each = us ? 3 : 1, row = J ? width : 3, columns = us ? 28 : 26;
        double u[3] = {us ? us[2 * i] : 1, us ? us[2 * i + 1] : 0, 0};
        u[2] = 1 - u[0] - u[1];
        const double *at[3];
        for (i64 t = 0; t < each; t++) at[t] = found + corners[each * i + t] * row;
        for (int t = 0; t < 3; t++) {
            double *e = errors + 3 * i + t, *to = J ? J + (3 * i + t) * columns : NULL;
            *e = points[3 * i + t];
            for (i64 corner = 0; corner < each; corner++) *e -= u[corner] * at[corner][t];
            if (!J) continue;
            if (us) *to++ = at[2][t] - at[0][t], *to++ = at[2][t] - at[1][t];
            for (int k = 0; k < 26; k++) {
                double sum = 0;
                if (k >= 3 && k < 6)
                    sum = k - 3 == t;
                else
                    for (i64 corner = 0; corner < each; corner++)
                        sum += u[corner] * at[corner][3 + 3 * (k < 3 ? k : k - 3) + t];
                to[k] = -sum;
            }
        }
    }
    free(found);
}

/* ---- lstm ---- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

enum { F, I, O, C, S, H, V, PARTS }; /* what is kept of a layer at a step: gates, state, output, input */

/* Also the gradient, where g is not null: of the main parameters, then of the extra ones. */
static double lstm(i64 L, i64 b, i64 c, const double *main, const double *extra, const double *state, const double *seq, double *g) {
    i64 steps = c - 1, size = L * PARTS * b;
    double *kept = numbers((steps + 1) * size), *ys = numbers(steps * b), *sums = numbers(steps), total = 0;
    for (i64 l = 0; l < L; l++)
        for (i64 j = 0; j < b; j++) {
            kept[(l * PARTS + H) * b + j] = state[2 * l * b + j];
            kept[(l * PARTS + S) * b + j] = state[(2 * l + 1) * b + j];
        }
    for (i64 t = 0; t < steps; t++) {
        double *before = kept + t * size, *now = before + size, *v = ys + t * b;
        for (i64 j = 0; j < b; j++) v[j] = seq[t * b + j] * extra[j];
        for (i64 l = 0; l < L; l++) {
            const double *W = main + 8 * l * b, *B = W + 4 * b;
            double *a = now + l * PARTS * b, *old = before + l * PARTS * b;
            for (i64 j = 0; j < b; j++) {
                double h = old[H * b + j], in = v[j];
                a[V * b + j] = in;
                a[F * b + j] = sigmoid(in * W[j] + B[j]);
                a[I * b + j] = sigmoid(h * W[b + j] + B[b + j]);
                a[O * b + j] = sigmoid(in * W[2 * b + j] + B[2 * b + j]);
                a[C * b + j] = tanh(h * W[3 * b + j] + B[3 * b + j]);
                a[S * b + j] = old[S * b + j] * a[F * b + j] + a[I * b + j] * a[C * b + j];
                v[j] = a[H * b + j] = a[O * b + j] * tanh(a[S * b + j]);
            }
        }
        double sum = 2;
        for (i64 j = 0; j < b; j++) v[j] = v[j] * extra[b + j] + extra[2 * b + j], sum += exp(v[j]);
        for (i64 j = 0; j < b; j++) total += seq[(t + 1) * b + j] * (v[j] - log(sum));
        sums[t] = sum;
    }
    if (g) {
        double *h_bar = numbers(2 * L * b), *s_bar = h_bar + L * b, *v_bar = numbers(b), *g_extra = g + 8 * L * b;
        double unit = -1.0 / (steps * b);
        memset(g, 0, (8 * L + 3) * b * sizeof(double));
        for (i64 t = steps - 1; t >= 0; t--) {
            double *before = kept + t * size, *now = before + size, *y = ys + t * b, mass = 0;
            for (i64 j = 0; j < b; j++) mass += seq[(t + 1) * b + j];
            for (i64 j = 0; j < b; j++) {
                double y_bar = unit * (seq[(t + 1) * b + j] - mass * exp(y[j]) / sums[t]);
                g_extra[2 * b + j] += y_bar;
                g_extra[b + j] += y_bar * now[((L - 1) * PARTS + H) * b + j];
                v_bar[j] = y_bar * extra[b + j];
            }
            for (i64 l = L - 1; l >= 0; l--) {
                const double *W = main + 8 * l * b;
                double *G = g + 8 * l * b, *a = now + l * PARTS * b, *old = before + l * PARTS * b;
                for (i64 j = 0; j < b; j++) {
                    double f = a[F * b + j], i = a[I * b + j], o = a[O * b + j], cc = a[C * b + j];
                    double th = tanh(a[S * b + j]), hb = h_bar[l * b + j] + v_bar[j];
                    double sb = s_bar[l * b + j] + hb * o * (1 - th * th);
                    double fz = sb * old[S * b + j] * f * (1 - f), iz = sb * cc * i * (1 - i);
                    double oz = hb * th * o * (1 - o), cz = sb * i * (1 - cc * cc);
                    double in = a[V * b + j], h = old[H * b + j];
                    G[j] += fz * in, G[b + j] += iz * h, G[2 * b + j] += oz * in, G[3 * b + j] += cz * h;
                    G[4 * b + j] += fz, G[5 * b + j] += iz, G[6 * b + j] += oz, G[7 * b + j] += cz;
                    v_bar[j] = fz * W[j] + oz * W[2 * b + j];
                    h_bar[l * b + j] = iz * W[b + j] + cz * W[3 * b + j];
                    s_bar[l * b + j] = sb * f;
                }
            }
            for (i64 j = 0; j < b; j++) g_extra[j] += v_bar[j] * seq[t * b + j];
        }
        free(h_bar), free(v_bar);
    }
    free(kept), free(ys), free(sums);
    return -total / (steps * b);
}

double lstm_value(i64 L, i64 b, i64 c, const double *main, const double *extra, const double *state, const double *seq) {
    return lstm(L, b, c, main, extra, state, seq, NULL);
}

void lstm_gradient(i64 L, i64 b, i64 c, const double *main, const double *extra, const double *state, const double *seq, double *g) {
    lstm(L, b, c, main, extra, state, seq, g);
}

/* ---- particle and saddle: one descent, of any number of variables up to two ---- */

typedef double (*Value)(const double *x, const void *about);
typedef void (*Gradient)(const double *x, const void *about, double *g);

static void descend(int n, double *x, Value f, Gradient gradient, const void *about) {
    double g[2], tried[2], value = f(x, about), eta = 1e-5;
    gradient(x, about, g);
    for (int successes = 0;;) {
        double length = 0, way = 0;
        for (int i = 0; i < n; i++) length += g[i] * g[i];
        if (length <= 1e-10) return;
        if (successes == 10) {
            eta *= 2, successes = 0;
            continue;
        }
        for (int i = 0; i < n; i++) tried[i] = x[i] - eta * g[i], way += (x[i] - tried[i]) * (x[i] - tried[i]);
        if (way <= 1e-10) return;
        double found = f(tried, about);
        if (found < value) {
            for (int i = 0; i < n; i++) x[i] = tried[i];
            value = found, successes++;
            gradient(x, about, g);
        } else
            eta /= 2, successes = 0;
    }
}

/* The flight, with the tangent by w of all that it carries, where `derivative` is not null. */
static double flight(double w, double *derivative) {
    double x[2] = {0, 8}, v[2] = {0.75, 0}, dx[2] = {0, 0}, dv[2] = {0, 0}, h = 0.1;
    for (;;) {
        double a[2] = {0, 0}, da[2] = {0, 0};
        for (int charge = 0; charge < 2; charge++) {
            double r[2] = {x[0] - 10, x[1] - (charge ? 0 : 10 - w)}, square = r[0] * r[0] + r[1] * r[1];
            double cube = 1 / (square * sqrt(square)), dr[2] = {dx[0], dx[1] + (charge ? 0 : 1)};
            double turn = 3 * (r[0] * dr[0] + r[1] * dr[1]) / square;
            for (int i = 0; i < 2; i++) {
                a[i] += r[i] * cube;
                if (derivative) da[i] += (dr[i] - r[i] * turn) * cube;
            }
        }
        for (int i = 0; i < 2; i++) x[i] += h * v[i], dx[i] += h * dv[i];
        if (x[1] <= 0) break;
        for (int i = 0; i < 2; i++) v[i] += h * a[i], dv[i] += h * da[i];
    }
    double tau = -x[1] / v[1], place = x[0] + tau * v[0];
    if (derivative) {
        double dtau = -(dx[1] + tau * dv[1]) / v[1];
        *derivative = 2 * place * (dx[0] + dtau * v[0] + tau * dv[0]);
    }
    return place * place;
}

static double flight_value(const double *w, const void *about) { return flight(*w, NULL); }
static void flight_gradient(const double *w, const void *about, double *g) { flight(*w, g); }

double particle(double w) {
    descend(1, &w, flight_value, flight_gradient, NULL);
    return w;
}

static double length2(const double *x) { return x[0] * x[0] + x[1] * x[1]; }
static double opposed(const double *y, const void *x) { return length2(y) - length2(x); }
static void opposed_gradient(const double *y, const void *x, double *g) { g[0] = 2 * y[0], g[1] = 2 * y[1]; }

static void best_answer(const double *x, const double *start, double *y) {
    memcpy(y, start, 2 * sizeof(double));
    descend(2, y, opposed, opposed_gradient, x);
}

static double worst(const double *x, const void *start) {
    double y[2];
    best_answer(x, start, y);
    return length2(x) - length2(y);
}

static void worst_gradient(const double *x, const void *start, double *g) {
    double y[2];
    best_answer(x, start, y); /* the search itself does not depend on x */
    g[0] = 2 * x[0], g[1] = 2 * x[1];
}

void saddle(const double *start, double *result) {
    memcpy(result, start, 2 * sizeof(double));
    descend(2, result, worst, worst_gradient, start);
    best_answer(result, start, result + 2);
}
