// One step of n bodies under gravity: tiles of positions in shared memory, then kick and drift. n is a multiple of 64.
extern "C" __global__ void nbody_step(const float4* body, float4* moved, float3* speed, int n, float dt) {
  __shared__ float4 tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float4 me = body[i];
  float ax = 0, ay = 0, az = 0;
  for (int first = 0; first < n; first += 64) {
    tile[t] = body[first + t];
    __syncthreads();
    for (int k = 0; k < 64; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx, ay += pull * dy, az += pull * dz;
    }
    __syncthreads();
  }
  float3 v = speed[i];
  v = make_float3(v.x + ax * dt, v.y + ay * dt, v.z + az * dt);
  speed[i] = v;
  moved[i] = make_float4(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
}
