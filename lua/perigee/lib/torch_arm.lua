--- The expert of a task's field `torch`, see perigee.lib.torch.
return function(run)
  return require("perigee.lib.torch").arm(run)
end
