#include "../axpy.cuh"
