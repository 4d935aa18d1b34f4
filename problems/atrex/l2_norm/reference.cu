/*---ridgepoint
operator = "l2_norm"
note = "One CTA per row; the sum of squares in f64."
[[launch]]
kernel = "l2_norm"
grid = ["max(num_tokens, 1)"]
block = ["256"]
args = ["x", "out", "i64:num_tokens", "i64:hidden_size", "f32:eps"]
---*/
// out = bf16(x / sqrt(sum(x^2) + eps)), row by row.

constexpr int BLOCK = 256;

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// To nearest, ties to even; NaN stays NaN.
__device__ unsigned short to_bf16(float value) {
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// The sum over all threads of the CTA, in a fixed order; every thread gets it.
__device__ double cta_sum(double value) {
    __shared__ double partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    double total = partial[0];
    __syncthreads();
    return total;
}

extern "C" __global__ void l2_norm(const unsigned short* x, unsigned short* out, long long num_tokens,
                                   long long hidden_size, float eps) {
    long long row = blockIdx.x;
    if (row >= num_tokens) return;
    x += row * hidden_size;
    out += row * hidden_size;

    double squares = 0.0;
    for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) {
        double value = from_bf16(x[i]);
        squares += value * value;
    }
    double scale = 1.0 / sqrt(cta_sum(squares) + eps);

    for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) out[i] = to_bf16((float)(from_bf16(x[i]) * scale));
}
