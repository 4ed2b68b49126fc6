-- A macro with a second line, which would include a file of the host.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: one line
return { define = { N = '1\n#include "/etc/hostname"' } }
