--- An expert whose library fails when it is called.
return function()
  return function()
    require("perigee.lib.cuda").check(7, "libraryCall", { [7] = "invalid value" })
  end, { library = "none" }
end
