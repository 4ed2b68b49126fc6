/* What the experts ask of NVIDIA's libraries, by the definitions in their manuals and one element
 * at a time, over the driver that libcuda.so.1 is. One file stands for all libraries: the test
 * links it under each name. Matrices are column-major, as there. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t address;

extern int cuMemcpyDtoH_v2(void *to, address from, size_t bytes);
extern int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes);

enum { INVALID = 7 };

static void *fetch(address from, size_t bytes) {
  void *data = malloc(bytes + 1);
  if (!data || (bytes && cuMemcpyDtoH_v2(data, from, bytes))) abort();
  return data;
}

static void store(address to, void *data, size_t bytes) {
  if (bytes && cuMemcpyHtoD_v2(to, data, bytes)) abort();
  free(data);
}

/* Handles and descriptors: a few numbers each. */
typedef struct object {
  address at[3];
  int64_t size[4];
} object;

static int make(object **out) {
  *out = calloc(1, sizeof **out);
  return *out ? 0 : INVALID;
}

static int drop(object *o) {
  free(o);
  return 0;
}

#define MAKES(create, destroy) \
  int create(object **out);    \
  int destroy(object *o);      \
  int create(object **out) {   \
    return make(out);          \
  }                            \
  int destroy(object *o) {     \
    return drop(o);            \
  }
#define ON_STREAM(set)                 \
  int set(object *o, address stream);  \
  int set(object *o, address stream) { \
    return o && stream ? 0 : INVALID;  \
  }

/* ---- cuBLAS ---- */

MAKES(cublasCreate_v2, cublasDestroy_v2)
ON_STREAM(cublasSetStream_v2)

int cublasGetVersion_v2(object *handle, int *version);
int cublasGetVersion_v2(object *handle, int *version) {
  *version = 130100;
  return handle ? 0 : INVALID;
}

int cublasGemmEx(object *handle, int ta, int tb, int m, int n, int k, const float *alpha, address a,
                 int type_a, int lda, address b, int type_b, int ldb, const float *beta, address c,
                 int type_c, int ldc, int compute, int algorithm);
int cublasGemmEx(object *handle, int ta, int tb, int m, int n, int k, const float *alpha, address a,
                 int type_a, int lda, address b, int type_b, int ldb, const float *beta, address c,
                 int type_c, int ldc, int compute, int algorithm) {
  const int f32 = 0, compute_32f = 68;
  if (!handle || ta || tb || lda < m || ldb < k || ldc < m || type_a != f32 || type_b != f32 ||
      type_c != f32 || compute != compute_32f || algorithm != -1 || *beta != 0)
    return INVALID;
  float *x = fetch(a, 4 * (size_t)lda * (size_t)k), *y = fetch(b, 4 * (size_t)ldb * (size_t)n);
  float *z = fetch(c, 4 * (size_t)ldc * (size_t)n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += (double)x[i + l * lda] * y[l + j * ldb];
      z[i + j * ldc] = (float)(*alpha * sum);
    }
  free(x);
  free(y);
  store(c, z, 4 * (size_t)ldc * (size_t)n);
  return 0;
}

/* c = alpha op(a) + beta op(b): of a transposed, m x n. */
int cublasSgeam(object *handle, int ta, int tb, int m, int n, const float *alpha, address a,
                int lda, const float *beta, address b, int ldb, address c, int ldc);
int cublasSgeam(object *handle, int ta, int tb, int m, int n, const float *alpha, address a,
                int lda, const float *beta, address b, int ldb, address c, int ldc) {
  if (!handle || ta != 1 || tb || lda < n || ldb < m || ldc < m || *beta != 0 || b != c)
    return INVALID;
  float *x = fetch(a, 4 * (size_t)lda * (size_t)m), *z = fetch(c, 4 * (size_t)ldc * (size_t)n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) z[i + j * ldc] = *alpha * x[j + i * lda];
  free(x);
  store(c, z, 4 * (size_t)ldc * (size_t)n);
  return 0;
}

/* ---- cuBLASLt: f16 in, f32 out, three algorithms of which the first does not work ---- */

MAKES(cublasLtCreate, cublasLtDestroy)

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) {
  return 130100;
}

int cublasLtMatmulDescCreate(object **out, int compute, int scale_type);
int cublasLtMatmulDescCreate(object **out, int compute, int scale_type) {
  return compute == 68 && scale_type == 0 ? make(out) : INVALID;
}

int cublasLtMatmulDescDestroy(object *desc);
int cublasLtMatmulDescDestroy(object *desc) {
  return drop(desc);
}

int cublasLtMatrixLayoutCreate(object **out, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutCreate(object **out, int type, uint64_t rows, uint64_t columns,
                               int64_t ld) {
  if (make(out) || ld < (int64_t)rows) return INVALID;
  **out = (object){{0}, {type, (int64_t)rows, (int64_t)columns, ld}};
  return 0;
}

int cublasLtMatrixLayoutDestroy(object *layout);
int cublasLtMatrixLayoutDestroy(object *layout) {
  return drop(layout);
}

int cublasLtMatmulPreferenceCreate(object **out);
int cublasLtMatmulPreferenceCreate(object **out) {
  return make(out);
}

int cublasLtMatmulPreferenceDestroy(object *preference);
int cublasLtMatmulPreferenceDestroy(object *preference) {
  return drop(preference);
}

int cublasLtMatmulPreferenceSetAttribute(object *preference, int attribute, const uint64_t *value,
                                         size_t bytes);
int cublasLtMatmulPreferenceSetAttribute(object *preference, int attribute, const uint64_t *value,
                                         size_t bytes) {
  preference->size[0] = (int64_t)*value;
  return attribute == 1 && bytes == 8 ? 0 : INVALID;
}

typedef struct heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} heuristic;

int cublasLtMatmulAlgoGetHeuristic(object *handle, object *desc, object *a, object *b, object *c,
                                   object *d, object *preference, int asked, heuristic *results,
                                   int *returned);
int cublasLtMatmulAlgoGetHeuristic(object *handle, object *desc, object *a, object *b, object *c,
                                   object *d, object *preference, int asked, heuristic *results,
                                   int *returned) {
  if (!handle || !desc || !a || !b || c != d || !preference->size[0] || asked < 3) return INVALID;
  for (uint64_t i = 0; i < 3; i++) results[i] = (heuristic){.algorithm = {i}};
  *returned = 3;
  return 0;
}

int cublasLtMatmul(object *handle, object *desc, const float *alpha, address a, object *ad,
                   address b, object *bd, const float *beta, address c, object *cd, address d,
                   object *dd, const uint64_t *algorithm, address room, size_t bytes,
                   address stream);
int cublasLtMatmul(object *handle, object *desc, const float *alpha, address a, object *ad,
                   address b, object *bd, const float *beta, address c, object *cd, address d,
                   object *dd, const uint64_t *algorithm, address room, size_t bytes,
                   address stream) {
  const int64_t f16 = 2, f32 = 0, m = ad->size[1], k = ad->size[2], n = bd->size[2];
  if (!handle || !desc || !room || !bytes || !stream || *beta != 0 || c != d || cd != dd ||
      *algorithm == 0 || ad->size[0] != f16 || bd->size[0] != f16 || dd->size[0] != f32 ||
      bd->size[1] != k || dd->size[1] != m || dd->size[2] != n)
    return INVALID;
  _Float16 *x = fetch(a, 2 * (size_t)(ad->size[3] * k)),
           *y = fetch(b, 2 * (size_t)(bd->size[3] * n));
  float *z = fetch(d, 4 * (size_t)(dd->size[3] * n));
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += (double)x[i + l * ad->size[3]] * (double)y[l + j * bd->size[3]];
      z[i + j * dd->size[3]] = (float)(*alpha * sum);
    }
  free(x);
  free(y);
  store(d, z, 4 * (size_t)(dd->size[3] * n));
  return 0;
}

/* ---- cuFFT ---- */

static int fft_n, fft_batch; /* of the one plan that a test has at a time */

int cufftGetVersion(int *version);
int cufftGetVersion(int *version) {
  *version = 12000;
  return 0;
}

int cufftPlan1d(int *plan, int n, int type, int batch);
int cufftPlan1d(int *plan, int n, int type, int batch) {
  *plan = 1, fft_n = n, fft_batch = batch;
  return type == 0x29 ? 0 : INVALID;
}

int cufftSetStream(int plan, address stream);
int cufftSetStream(int plan, address stream) {
  return plan == 1 && stream ? 0 : INVALID;
}

int cufftDestroy(int plan);
int cufftDestroy(int plan) {
  return plan == 1 ? 0 : INVALID;
}

int cufftExecC2C(int plan, address from, address to, int direction);
int cufftExecC2C(int plan, address from, address to, int direction) {
  size_t n = (size_t)fft_n, bytes = 8 * n * (size_t)fft_batch;
  float *x = fetch(from, bytes), *y = fetch(to, bytes);
  for (size_t row = 0; row < (size_t)fft_batch; row++)
    for (size_t k = 0; k < n; k++) {
      double re = 0, im = 0;
      for (size_t j = 0; j < n; j++) {
        double angle = direction * 2 * M_PI * (double)(j * k % n) / (double)n;
        const float *v = x + 2 * (row * n + j);
        re += v[0] * cos(angle) - v[1] * sin(angle);
        im += v[0] * sin(angle) + v[1] * cos(angle);
      }
      y[2 * (row * n + k)] = (float)re;
      y[2 * (row * n + k) + 1] = (float)im;
    }
  free(x);
  store(to, y, bytes);
  return plan == 1 ? 0 : INVALID;
}

/* ---- cuSOLVER ---- */

MAKES(cusolverDnCreate, cusolverDnDestroy)
ON_STREAM(cusolverDnSetStream)

int cusolverGetVersion(int *version);
int cusolverGetVersion(int *version) {
  *version = 12000;
  return 0;
}

int cusolverDnSpotrf_bufferSize(object *handle, int uplo, int n, address a, int lda, int *count);
int cusolverDnSpotrf_bufferSize(object *handle, int uplo, int n, address a, int lda, int *count) {
  *count = 1;
  return handle && uplo == 0 && !a && lda >= n ? 0 : INVALID;
}

/* a = l l^T of the lower triangle; the other one is neither read nor written. */
int cusolverDnSpotrf(object *handle, int uplo, int n, address a, int lda, address room, int count,
                     address info);
int cusolverDnSpotrf(object *handle, int uplo, int n, address a, int lda, address room, int count,
                     address info) {
  if (!handle || uplo != 0 || lda < n || !room || !info || count != 1) return INVALID;
  float *l = fetch(a, 4 * (size_t)lda * (size_t)n);
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) {
      double sum = l[i + j * lda];
      for (int k = 0; k < j; k++) sum -= (double)l[i + k * lda] * l[j + k * lda];
      l[i + j * lda] = (float)(i == j ? sqrt(sum) : sum / l[j + j * lda]);
    }
  store(a, l, 4 * (size_t)lda * (size_t)n);
  return 0;
}

int cusolverDnSgetrf_bufferSize(object *handle, int m, int n, address a, int lda, int *count);
int cusolverDnSgetrf_bufferSize(object *handle, int m, int n, address a, int lda, int *count) {
  *count = 1;
  return handle && m == n && !a && lda >= m ? 0 : INVALID;
}

static void swap_rows(float *a, int n, int lda, int i, int k) {
  for (int j = 0; j < n; j++) {
    float held = a[i + j * lda];
    a[i + j * lda] = a[k + j * lda];
    a[k + j * lda] = held;
  }
}

/* p a = l u, pivots from 1. */
int cusolverDnSgetrf(object *handle, int m, int n, address a, int lda, address room, address pivots,
                     address info);
int cusolverDnSgetrf(object *handle, int m, int n, address a, int lda, address room, address pivots,
                     address info) {
  if (!handle || m != n || lda < n || !room || !info) return INVALID;
  float *f = fetch(a, 4 * (size_t)lda * (size_t)n);
  int *chosen = fetch(pivots, 4 * (size_t)n);
  for (int j = 0; j < n; j++) {
    int pivot = j;
    for (int i = j; i < n; i++)
      if (fabsf(f[i + j * lda]) > fabsf(f[pivot + j * lda])) pivot = i;
    chosen[j] = pivot + 1;
    swap_rows(f, n, lda, j, pivot);
    for (int i = j + 1; i < n; i++) {
      f[i + j * lda] /= f[j + j * lda];
      for (int k = j + 1; k < n; k++) f[i + k * lda] -= f[i + j * lda] * f[j + k * lda];
    }
  }
  store(a, f, 4 * (size_t)lda * (size_t)n);
  store(pivots, chosen, 4 * (size_t)n);
  return 0;
}

/* a x = b: the interchanges, l, then u backwards. */
int cusolverDnSgetrs(object *handle, int transposed, int n, int nrhs, address a, int lda,
                     address pivots, address b, int ldb, address info);
int cusolverDnSgetrs(object *handle, int transposed, int n, int nrhs, address a, int lda,
                     address pivots, address b, int ldb, address info) {
  if (!handle || transposed || ldb < n || !info) return INVALID;
  float *f = fetch(a, 4 * (size_t)lda * (size_t)n), *x = fetch(b, 4 * (size_t)ldb * (size_t)nrhs);
  int *chosen = fetch(pivots, 4 * (size_t)n);
  for (int i = 0; i < n; i++) swap_rows(x, nrhs, ldb, i, chosen[i] - 1);
  for (int j = 0; j < nrhs; j++) {
    float *v = x + j * ldb;
    for (int i = 0; i < n; i++)
      for (int k = 0; k < i; k++) v[i] -= f[i + k * lda] * v[k];
    for (int i = n - 1; i >= 0; i--) {
      for (int k = i + 1; k < n; k++) v[i] -= f[i + k * lda] * v[k];
      v[i] /= f[i + i * lda];
    }
  }
  free(f);
  free(chosen);
  store(b, x, 4 * (size_t)ldb * (size_t)nrhs);
  return 0;
}

/* ---- cuSPARSE ---- */

MAKES(cusparseCreate, cusparseDestroy)
ON_STREAM(cusparseSetStream)

int cusparseGetVersion(object *handle, int *version);
int cusparseGetVersion(object *handle, int *version) {
  *version = 12600;
  return handle ? 0 : INVALID;
}

int cusparseCreateCsr(object **out, int64_t rows, int64_t columns, int64_t count, address first,
                      address column, address value, int first_type, int column_type, int base,
                      int type);
int cusparseCreateCsr(object **out, int64_t rows, int64_t columns, int64_t count, address first,
                      address column, address value, int first_type, int column_type, int base,
                      int type) {
  if (first_type != 2 || column_type != 2 || base || type || make(out)) return INVALID;
  **out = (object){{first, column, value}, {rows, columns, count, 0}};
  return 0;
}

int cusparseDestroySpMat(object *matrix);
int cusparseDestroySpMat(object *matrix) {
  return drop(matrix);
}

int cusparseCreateDnVec(object **out, int64_t size, address values, int type);
int cusparseCreateDnVec(object **out, int64_t size, address values, int type) {
  if (type || make(out)) return INVALID;
  **out = (object){{values}, {size}};
  return 0;
}

int cusparseDestroyDnVec(object *vector);
int cusparseDestroyDnVec(object *vector) {
  return drop(vector);
}

int cusparseSpMV_bufferSize(object *handle, int op, const float *alpha, object *a, object *x,
                            const float *beta, object *y, int compute, int algorithm,
                            size_t *bytes);
int cusparseSpMV_bufferSize(object *handle, int op, const float *alpha, object *a, object *x,
                            const float *beta, object *y, int compute, int algorithm,
                            size_t *bytes) {
  *bytes = 16;
  return handle && !op && *alpha == 1 && a && x && *beta == 0 && y && !compute && algorithm >= 2
             ? 0
             : INVALID;
}

int cusparseSpMV(object *handle, int op, const float *alpha, object *a, object *x,
                 const float *beta, object *y, int compute, int algorithm, address buffer);
int cusparseSpMV(object *handle, int op, const float *alpha, object *a, object *x,
                 const float *beta, object *y, int compute, int algorithm, address buffer) {
  size_t rows = (size_t)a->size[0], count = (size_t)a->size[2], bytes;
  if (cusparseSpMV_bufferSize(handle, op, alpha, a, x, beta, y, compute, algorithm, &bytes) ||
      !buffer)
    return INVALID;
  int *first = fetch(a->at[0], 4 * (rows + 1)), *column = fetch(a->at[1], 4 * count);
  float *value = fetch(a->at[2], 4 * count), *v = fetch(x->at[0], 4 * rows);
  float *sum = fetch(y->at[0], 4 * rows);
  for (size_t i = 0; i < rows; i++) {
    double total = 0;
    for (int k = first[i]; k < first[i + 1]; k++) total += (double)value[k] * v[column[k]];
    sum[i] = (float)total;
  }
  free(first);
  free(column);
  free(value);
  free(v);
  store(y->at[0], sum, 4 * rows);
  return 0;
}

/* ---- cuDNN ---- */

MAKES(cudnnCreate, cudnnDestroy)
MAKES(cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor)
MAKES(cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor)
MAKES(cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor)
ON_STREAM(cudnnSetStream)

size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) {
  return 91400;
}

int cudnnSetTensor4dDescriptor(object *o, int format, int type, int n, int c, int h, int w);
int cudnnSetTensor4dDescriptor(object *o, int format, int type, int n, int c, int h, int w) {
  *o = (object){{0}, {n, c, h, w}};
  return format || type ? INVALID : 0;
}

int cudnnSetFilter4dDescriptor(object *o, int type, int format, int k, int c, int h, int w);
int cudnnSetFilter4dDescriptor(object *o, int type, int format, int k, int c, int h, int w) {
  return cudnnSetTensor4dDescriptor(o, format, type, k, c, h, w);
}

int cudnnSetConvolution2dDescriptor(object *o, int pad_h, int pad_w, int u, int v, int dilation_h,
                                    int dilation_w, int mode, int compute);
int cudnnSetConvolution2dDescriptor(object *o, int pad_h, int pad_w, int u, int v, int dilation_h,
                                    int dilation_w, int mode, int compute) {
  *o = (object){{0}, {pad_h, pad_w, 0, 0}};
  return u == 1 && v == 1 && dilation_h == 1 && dilation_w == 1 && mode == 1 && !compute ? 0
                                                                                         : INVALID;
}

int cudnnSetConvolutionMathType(object *o, int math);
int cudnnSetConvolutionMathType(object *o, int math) {
  return o && math == 3 ? 0 : INVALID; /* fused multiply-adds, no TF32 */
}

int cudnnGetConvolutionForwardWorkspaceSize(object *handle, object *x, object *w, object *conv,
                                            object *y, int algorithm, size_t *bytes);
int cudnnGetConvolutionForwardWorkspaceSize(object *handle, object *x, object *w, object *conv,
                                            object *y, int algorithm, size_t *bytes) {
  *bytes = 0;
  return handle && x && w && conv && y && algorithm < 2 ? 0 : INVALID; /* it has two */
}

static double pixel(const float *x, const object *o, int64_t n, int64_t c, int64_t h, int64_t w) {
  if (h < 0 || w < 0 || h >= o->size[2] || w >= o->size[3]) return 0;
  return x[((n * o->size[1] + c) * o->size[2] + h) * o->size[3] + w];
}

static size_t bytes_of(const object *o) {
  return 4 * (size_t)(o->size[0] * o->size[1] * o->size[2] * o->size[3]);
}

int cudnnConvolutionForward(object *handle, const float *alpha, object *xd, address x, object *wd,
                            address w, object *conv, int algorithm, address room, size_t bytes,
                            const float *beta, object *yd, address y);
int cudnnConvolutionForward(object *handle, const float *alpha, object *xd, address x, object *wd,
                            address w, object *conv, int algorithm, address room, size_t bytes,
                            const float *beta, object *yd, address y) {
  if (!handle || *alpha != 1 || *beta != 0 || algorithm > 1 || room || bytes) return INVALID;
  float *in = fetch(x, bytes_of(xd)), *filter = fetch(w, bytes_of(wd)), *out;
  out = fetch(y, bytes_of(yd));
  const int64_t *e = yd->size;
  for (int64_t i = 0; i < e[0] * e[1] * e[2] * e[3]; i++) {
    int64_t v = i % e[3], h = i / e[3] % e[2], o = i / e[3] / e[2] % e[1],
            n = i / e[3] / e[2] / e[1];
    double sum = 0;
    for (int64_t c = 0; c < wd->size[1]; c++)
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++)
          sum += filter[((o * wd->size[1] + c) * 3 + r) * 3 + s] *
                 pixel(in, xd, n, c, h + r - conv->size[0], v + s - conv->size[1]);
    out[i] = (float)sum;
  }
  free(in);
  free(filter);
  store(y, out, bytes_of(yd));
  return 0;
}

/* Over c, h and w of each n. */
int cudnnSoftmaxForward(object *handle, int algorithm, int mode, const float *alpha, object *xd,
                        address x, const float *beta, object *yd, address y);
int cudnnSoftmaxForward(object *handle, int algorithm, int mode, const float *alpha, object *xd,
                        address x, const float *beta, object *yd, address y) {
  if (!handle || algorithm != 1 || mode || *alpha != 1 || *beta != 0 || !yd) return INVALID;
  float *v = fetch(x, bytes_of(xd));
  int64_t n = xd->size[1] * xd->size[2] * xd->size[3];
  for (float *row = v; row < v + xd->size[0] * n; row += n) {
    double most = row[0], sum = 0;
    for (int64_t j = 0; j < n; j++) most = fmax(most, row[j]);
    for (int64_t j = 0; j < n; j++) sum += exp(row[j] - most);
    for (int64_t j = 0; j < n; j++) row[j] = (float)(exp(row[j] - most) / sum);
  }
  store(y, v, bytes_of(xd));
  return 0;
}
