-- It raises something that is no error.
error { 1, 2, 3 }
