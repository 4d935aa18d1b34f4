/*---ridgepoint
operator = "fused_add_rms_norm"
note = "One CTA per row; the sum of squares in f64, over the rounded sum."
[[launch]]
kernel = "fused_add_rms_norm"
grid = ["max(token_count, 1)"]
block = ["256"]
args = ["x", "residual", "weight", "out", "residual_out", "i64:token_count", "i64:hidden_size", "f32:eps"]
---*/
// residual_out = bf16(x + residual); out = bf16(residual_out / sqrt(mean(residual_out^2) + eps) * weight).
// The norm sees the sum after it was rounded to bf16.

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

extern "C" __global__ void fused_add_rms_norm(const unsigned short* x, const unsigned short* residual,
                                              const unsigned short* weight, unsigned short* out,
                                              unsigned short* residual_out, long long token_count,
                                              long long hidden_size, float eps) {
    long long row = blockIdx.x;
    if (row >= token_count) return;
    x += row * hidden_size;
    residual += row * hidden_size;
    out += row * hidden_size;
    residual_out += row * hidden_size;

    double squares = 0.0;
    for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) {
        residual_out[i] = to_bf16(from_bf16(x[i]) + from_bf16(residual[i]));
        double sum = from_bf16(residual_out[i]);
        squares += sum * sum;
    }
    double scale = 1.0 / sqrt(cta_sum(squares) / hidden_size + eps);

    for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) {
        out[i] = to_bf16((float)(from_bf16(residual_out[i]) * scale * from_bf16(weight[i])));
    }
}
