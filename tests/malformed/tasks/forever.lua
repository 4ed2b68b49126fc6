-- Loading never ends.
while true do end
