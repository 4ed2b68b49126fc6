
  int t_counter; const char *const t_text; point t_point;
  int t_add(int a, double b);
  int8_t t_i8(int8_t); uint8_t t_u8(uint8_t); int16_t t_i16(int16_t); uint16_t t_u16(uint16_t);
  uint32_t t_u32(uint32_t); int64_t t_i64(int64_t); float t_float(float); double t_double(double);
  bool t_not(bool); color t_next(color); point t_swap(point); vec t_scale(vec, double);
  mixed t_mixed(mixed); pair t_pair(pair); either t_either(either);
  int t_sum(const int *v, int n); size_t t_length(const char *s) __attribute__((nonnull(1)));
  extern void *t_same(void *p); point *t_make(int x, int y); void t_drop(point *);
  int t_many(int, int, int, int, int, int, int, int, double, float);
  double t_vsum(int n, ...); int t_fail(int code); int t_apply(int (*f)(int), int v);
  double t_fold(double (*f)(double, double), const double *v, int n);
  bool t_each(bool (*f)(const point *, const char *), int n);
  int (*t_pick(void))(int, double);
  void t_nothing(void), t_fill(point p[], int n);
  int t_renamed(int) __asm__("t_renamed_in_c");
  int t_missing(void);
  int snprintf(char *, size_t, const char *, ...);
  double fabs(double);
