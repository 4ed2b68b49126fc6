/* The Lua module vector.activations_reference: activation functions in binary64, by the formulas of
 * their definitions. `apply(name, x)` of an f64 array x gives a new one. */
#include <math.h>
#include <string.h>

#include "bind/bind.h"

static double relu(double x) {
  return fmax(x, 0.0);
}

static double leaky_relu(double x) {
  return x > 0 ? x : 0.01 * x;
}

static double elu(double x) {
  return x > 0 ? x : expm1(x);
}

static double selu(double x) {
  return 1.05070098735548049342 * (x > 0 ? x : 1.67326324235437728482 * expm1(x));
}

static double gelu(double x) {
  return 0.5 * x * erfc(-x * M_SQRT1_2);
}

static double gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static double silu(double x) {
  return x * sigmoid(x);
}

static double softplus(double x) {
  return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double mish(double x) {
  return x * tanh(softplus(x));
}

static double hardswish(double x) {
  return x * fmin(fmax(x + 3, 0), 6) / 6;
}

typedef struct activation {
  const char *name;
  double (*f)(double);
} activation;

static const activation activations[] = {
    {"relu", relu}, {"leaky_relu", leaky_relu}, {"elu", elu},         {"selu", selu},
    {"gelu", gelu}, {"gelu_tanh", gelu_tanh},   {"silu", silu},       {"mish", mish},
    {"tanh", tanh}, {"softplus", softplus},     {"sigmoid", sigmoid}, {"hardswish", hardswish},
};

static const activation *check_activation(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
  for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
    if (strcmp(name, activations[i].name) == 0) return &activations[i];
  pg_lua_argument(L, arg, "name of an activation function");
  return NULL;
}

static int apply(lua_State *L) {
  const activation *a = check_activation(L, 1);
  const pg_array *x = pg_lua_check_array(L, 2, PG_F64);
  pg_array *y = pg_lua_new_array(L, &x->dtype, x->ndim, x->shape);
  const double *from = x->data;
  double *to = y->data;
  for (size_t i = 0; i < x->count; i++) to[i] = a->f(from[i]);
  return 1;
}

PG_API int luaopen_vector_activations_reference(lua_State *L) {
  static const luaL_Reg functions[] = {{"apply", apply}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
