-- One string that no machine has room for.
return ("x"):rep(1 << 60)
