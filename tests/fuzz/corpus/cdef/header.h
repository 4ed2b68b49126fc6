# 1 "a.h" 1 3
typedef unsigned int t __attribute__((__mode__(__word__))), *u; typedef float d __attribute__((mode(DF)));
extern int f(int n, int v[n][3], int w[*], complex float c, __int128 i) __asm__("" "g" /* f */ "h");
static __inline__ t b(t a) { char c = '}'; /* } */ return "}\""[a] + c; }
#line 7
_Static_assert(sizeof(t) == 8, "t"); struct s { _Static_assert(1, ""); double _Complex z; _Float128 q; };
