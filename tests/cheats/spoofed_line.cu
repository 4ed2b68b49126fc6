// Gives itself the name of a file of the judge, for reports to blame.
// task: vector/saxpy --set n=256
// verdict: out_of_bounds
// reason: in kernel saxpy at lua/perigee/judge.lua:2
// gpu: out_of_bounds z
#line 1 "lua/perigee/judge.lua"
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  z[n + 5] = a * x[threadIdx.x] + y[threadIdx.x];
}
