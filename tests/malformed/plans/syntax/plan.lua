-- verdict: compile_error
-- says: plan.lua:6: '}' expected (to close '{' at line 4) near 'block'
return {
  launch = {
    grid = "n"
    block = 256,
  },
}
