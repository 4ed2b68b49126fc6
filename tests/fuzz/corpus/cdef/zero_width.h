struct z { short : 0; }; struct y { char a; short : 0; long b : 64, c : 3; short __attribute__((aligned(8))) d : 3; };
