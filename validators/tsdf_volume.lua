--- Judges a TSDF volume: the table (keys, probe chains, block indices, coordinates, counters) and
-- the sums of every voxel. The task's reference returns { model = ... } of perigee.tsdf, which
-- knows what must be there.
--
-- Where no buffer is a table, the reference's field `table` says which block has which key.
--
-- Options: table = true judges the table that the candidate filled; sums = true judges the voxels.
-- kernels/tsdf/README.md says what exactly is checked and where the bounds come from.

-- The surface of the sphere is known without any reference, where rays are dense enough to meet
-- neighbours.
local function sphere_of(p)
  if p.scene ~= "sphere" or p.jitter > 0 or p.n < 100 then return nil end
  return { radius = p.radius, cam_x = p.cam_x, cam_y = p.cam_y, cam_z = p.cam_z }
end

local function first_failure(checks)
  local failed, reason = 0, nil
  for _, check in ipairs(checks) do
    if not check.ok then
      failed = failed + 1
      reason = reason or ("%s: %s"):format(check.name, check.detail)
    end
  end
  if failed > 1 then reason = ("%s (and %d more checks failed)"):format(reason, failed - 1) end
  return reason
end

return function(ctx)
  ctx:check_options { table = "boolean", sums = "boolean" }
  local p, state = ctx.params, ctx.state
  local volume = { table = state.table or ctx.inputs.table
    or ctx.expected.table, capacity = p.capacity }
  if ctx.options.table then
    volume.coord, volume.block_count, volume.drop_count = state.coord, state.block_count,
      state.drop_count
  end
  if ctx.options.sums then
    for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do volume[name] = state[name] end
    volume.weight_cap, volume.touched = p.weight_cap, ctx.touched
    volume.sphere = sphere_of(p)
  end
  local judged = ctx.expected.model:verify(volume)
  return {
    ok = judged.ok,
    verdict = not judged.ok and "wrong_result" or nil,
    reason = first_failure(judged.checks),
    checks = judged.checks,
    facts = judged.facts,
  }
end
