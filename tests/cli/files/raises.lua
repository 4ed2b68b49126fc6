local t = {}
return t.missing.field
