-- It raises nothing.
error(nil)
