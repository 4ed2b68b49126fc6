-- verdict: compile_error
-- says: define A: a value is one line
return { define = { A = "1\n#include <x>" } }
