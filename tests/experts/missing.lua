--- An expert of a library that no machine has.
return function()
  return require("perigee.lib.cuda").open "perigee_has_no_such_library"
end
