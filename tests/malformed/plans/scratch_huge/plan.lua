-- verdict: environment
-- says: bytes of device memory
return { scratch = { queue = { bytes = 1 << 45 } } }
