/*---ridgepoint
operator = "rms_norm"
note = "16-byte loads, a row held in registers by a warp or a CTA, sums by shuffles."
[tune]
BLOCK = [256, 128, 512]
HELD = [4, 2, 8]
[[launch]]
kernel = "rms_norm_narrow"
grid = ["ceil_div(ceil_div(token_count, 4) * min(32, next_pow2(hidden_size / 8)), BLOCK)"]
block = ["BLOCK"]
when = "(hidden_size % 8 == 0) * (hidden_size <= 256) * (token_count >= 8192)"
args = ["x", "weight", "out", "i64:token_count", "i32:hidden_size", "i32:min(32, next_pow2(hidden_size / 8))", "f32:eps"]
[[launch]]
kernel = "rms_norm_warp"
grid = ["ceil_div(token_count * min(32, next_pow2(hidden_size / 8)), BLOCK)"]
block = ["BLOCK"]
when = "(hidden_size % 8 == 0) * (hidden_size <= 2048) * (1 - (hidden_size <= 256) * (token_count >= 8192))"
args = ["x", "weight", "out", "i64:token_count", "i32:hidden_size", "i32:min(32, next_pow2(hidden_size / 8))", "f32:eps"]
[[launch]]
kernel = "rms_norm_cta"
grid = ["token_count"]
block = ["align(ceil_div(hidden_size, 8 * HELD), 32)"]
when = "(hidden_size % 8 == 0) * (hidden_size > 2048) * (hidden_size <= 8192 * HELD)"
args = ["x", "weight", "out", "i32:hidden_size", "f32:eps"]
[[launch]]
kernel = "rms_norm_any"
grid = ["token_count"]
block = ["BLOCK"]
when = "1 - (hidden_size % 8 == 0) * (hidden_size <= 8192 * HELD)"
args = ["x", "weight", "out", "i32:hidden_size", "f32:eps"]
---*/
// Rows stay in registers between the sum and the output: every byte moves once, sixteen at a time.
//   narrow, warp: one row per group of up to 32 lanes (four rows each where rows are short and many)
//   cta:          one row per CTA, HELD vectors per thread
//   any:          rows that are no multiple of 16 bytes, or too long to hold; element by element
#include <cuda_bf16.h>

// Eight bf16 values: one 16-byte load or store.
struct __align__(16) Vec8 {
    unsigned pair[4];
};

__device__ float get(const Vec8& v, int i) {
    return __uint_as_float(i % 2 ? v.pair[i / 2] & 0xffff0000 : v.pair[i / 2] << 16);
}

__device__ unsigned pack(float low, float high) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(unsigned*)&pair;
}

// The sum over groups of `lanes` neighbouring lanes, a power of two.
__device__ float lane_sum(float value, int lanes) {
    for (int step = lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// The sum over the CTA: shuffles inside the warps, then the warps' sums through `slots`.
__device__ float cta_sum(float value, float (&slots)[32]) {
    value = lane_sum(value, 32);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; warp++) total += slots[warp];
    return total;
}

__device__ Vec8 normalised(const Vec8& v, float scale, const Vec8& weight) {
    Vec8 result;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        result.pair[i / 2] = pack(get(v, i) * scale * get(weight, i), get(v, i + 1) * scale * get(weight, i + 1));
    }
    return result;
}

template <int VECTORS, int ROWS>
__device__ void by_lanes(const Vec8* __restrict__ x, const Vec8* __restrict__ weight, Vec8* __restrict__ out,
                         long long token_count, int hidden_size, int lanes, float eps) {
    int lane = threadIdx.x % lanes;
    int vectors = hidden_size / 8;
    long long first = ((long long)blockIdx.x * (BLOCK / lanes) + threadIdx.x / lanes) * ROWS;

    Vec8 held[ROWS][VECTORS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            int i = lane + v * lanes;
            held[r][v] = {};
            if (first + r < token_count && i < vectors) held[r][v] = x[(first + r) * vectors + i];
        }

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float squares = 0.0f;
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
#pragma unroll
            for (int j = 0; j < 8; j++) squares += get(held[r][v], j) * get(held[r][v], j);
        float scale = rsqrtf(lane_sum(squares, lanes) / hidden_size + eps);
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            int i = lane + v * lanes;
            if (first + r < token_count && i < vectors)
                out[(first + r) * vectors + i] = normalised(held[r][v], scale, weight[i]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
rms_norm_narrow(const Vec8* __restrict__ x, const Vec8* __restrict__ weight, Vec8* __restrict__ out,
                long long token_count, int hidden_size, int lanes, float eps) {
    by_lanes<1, 4>(x, weight, out, token_count, hidden_size, lanes, eps);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
rms_norm_warp(const Vec8* __restrict__ x, const Vec8* __restrict__ weight, Vec8* __restrict__ out,
              long long token_count, int hidden_size, int lanes, float eps) {
    by_lanes<8, 1>(x, weight, out, token_count, hidden_size, lanes, eps);
}

extern "C" __global__ void __launch_bounds__(1024)
rms_norm_cta(const Vec8* __restrict__ x, const Vec8* __restrict__ weight, Vec8* __restrict__ out, int hidden_size,
             float eps) {
    int vectors = hidden_size / 8;
    long long start = (long long)blockIdx.x * vectors;

    Vec8 held[HELD];
#pragma unroll
    for (int v = 0; v < HELD; v++) {
        int i = threadIdx.x + v * blockDim.x;
        held[v] = {};
        if (i < vectors) held[v] = x[start + i];
    }

    float squares = 0.0f;
#pragma unroll
    for (int v = 0; v < HELD; v++)
#pragma unroll
        for (int j = 0; j < 8; j++) squares += get(held[v], j) * get(held[v], j);
    __shared__ float slots[32];
    float scale = rsqrtf(cta_sum(squares, slots) / hidden_size + eps);

#pragma unroll
    for (int v = 0; v < HELD; v++) {
        int i = threadIdx.x + v * blockDim.x;
        if (i < vectors) out[start + i] = normalised(held[v], scale, weight[i]);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
rms_norm_any(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* out, int hidden_size, float eps) {
    long long start = (long long)blockIdx.x * hidden_size;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float value = __bfloat162float(x[start + i]);
        squares += value * value;
    }
    __shared__ float slots[32];
    float scale = rsqrtf(cta_sum(squares, slots) / hidden_size + eps);
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        out[start + i] = __float2bfloat16(__bfloat162float(x[start + i]) * scale * __bfloat162float(weight[i]));
    }
}
