typedef struct s { short a; } t __attribute__((aligned(8)));
typedef const short u[3] __attribute__((aligned(16)));
struct v { char a; t b; u c; short __attribute__((aligned(8))) d : 3, e : 9; };
