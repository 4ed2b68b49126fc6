# Reads TAP (from cmocka, LuaUnit or a shell test) and prints: passed failed skipped.
# -v status=N is the program's exit status. A test that was planned and never reported has failed, and so has a program
# that reports only successes but exits with a failure, or reports nothing at all.

/^(not )?ok.*# SKIP/ { skipped++; next }
/^ok / { passed++ }
/^not ok / { failed++ }
/^1\.\.[0-9]+/ { planned += substr($1, 4) }

END {
  lost = planned - passed - failed - skipped
  if (lost > 0) failed += lost
  if (!failed && (status || !(passed + skipped))) failed = 1
  print passed + 0, failed + 0, skipped + 0
}
