
  typedef struct point { int x, y; } point;
  typedef struct vec { double x, y, z; } vec;
  typedef struct mixed { float f; int i; double d; } mixed;
  typedef struct pair { float a, b; } pair;
  typedef union either { int64_t i; double d; } either;
  typedef enum color { RED, GREEN = 5, BLUE } color;
  enum { FLAG_A = 1 << 0, FLAG_B = 1 << 4, FLAG_ALL = FLAG_A | FLAG_B, FLAG_MINUS = -3 };
  static const int LIMIT = 42;
  struct bits { unsigned a : 3, b : 5; int c : 7; unsigned : 0; unsigned char d : 2; };
  struct small { char c; short s; char e; };
  struct packed { char c; int i; double d; } __attribute__((packed));
  struct aligned { char c; int i __attribute__((aligned(16))); };
  struct outer { int head; struct { int in_a; union { int in_b; float in_f; }; }; point p; };
  struct list { struct list *next; int value; };
  struct flexible { int n; double items[]; };
  struct nested { point at[3]; char name[8]; };
  struct opaque;
  typedef int (*binary)(int, double);
  typedef const char *text_t; /* a comment */
  typedef int matrix[2][3]; // another
  typedef unsigned long long int ull;
#pragma pack(push, 1)
  struct squeezed { char c; int i; };
#pragma pack(pop)
  struct normal { char c; int i; };
