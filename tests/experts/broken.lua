--- An expert with a mistake.
return function(run)
  return run.params.n + run.params.nothing
end
