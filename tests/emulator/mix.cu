// Kernels as a compiler writes them: reductions, softmax, tiles, tables, calls, local arrays, printf, a grid barrier.
#include <cuda_bf16.h>

__constant__ float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__device__ unsigned arrived = 0;

__device__ float block_sum(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32)
        for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffff, value, offset);
    __shared__ float total;
    if (threadIdx.x == 0) total = value;
    __syncthreads();
    return total;
}

extern "C" __global__ void rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* out, int width, float eps) {
    const __nv_bfloat162* row = reinterpret_cast<const __nv_bfloat162*>(x + (size_t)blockIdx.x * width);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width / 2; i += blockDim.x) {
        float2 v = __bfloat1622float2(row[i]);
        sum += v.x * v.x + v.y * v.y;
    }
    float scale = rsqrtf(block_sum(sum) / width + eps);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float v = __bfloat162float(x[(size_t)blockIdx.x * width + i]) * scale;
        out[(size_t)blockIdx.x * width + i] = __float2bfloat16(v * __bfloat162float(weight[i]));
    }
}

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][17], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

__device__ __noinline__ int collatz(int n) { return n <= 1 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }

extern "C" __global__ void misc(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float local[8];
    for (int k = 0; k < 8; ++k) local[k] = table[(i + k) & 3] * k;
    float v = local[(i * 5) & 7];
    switch (i % 6) {
        case 0: v += 1; break;
        case 1: v *= 3; break;
        case 2: v -= 2; break;
        case 3: v = -v; break;
        case 4: v += collatz(i); break;
        default: v /= 7; break;
    }
    if (i == 5) printf("thread %d has %.3f of %s\n", i, v, "misc");
    out[i] = v;
}

extern "C" __global__ void two_phases(unsigned* data, unsigned* out) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (*(volatile unsigned*)&arrived < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    unsigned other = (blockIdx.x + 1) % gridDim.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = data[other * blockDim.x + threadIdx.x];
}
