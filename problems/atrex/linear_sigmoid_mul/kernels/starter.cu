/*---ridgepoint
operator = "linear_sigmoid_mul"
note = "Where to begin: one thread per output element, tiles of both matrices in shared memory."
[tune]
TILE = [16, 32]
[[launch]]
kernel = "linear_sigmoid_mul"
grid = ["ceil_div(out_features, TILE)", "ceil_div(token_count, TILE)"]
block = ["TILE", "TILE"]
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
---*/
#include <cuda_bf16.h>

extern "C" __global__ void linear_sigmoid_mul(const __nv_bfloat16* hidden_states, const __nv_bfloat16* weight,
                                              const __nv_bfloat16* bias, const __nv_bfloat16* post_mul_mat,
                                              __nv_bfloat16* out, int token_count, int hidden_size, int out_features) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    int weight_row = blockIdx.x * TILE + threadIdx.y;

    float sum = 0.0f;
    for (int depth = 0; depth < hidden_size; depth += TILE) {
        int d = depth + threadIdx.x;
        bool a_inside = row < token_count && d < hidden_size;
        bool b_inside = weight_row < out_features && d < hidden_size;
        a[threadIdx.y][threadIdx.x] = a_inside ? __bfloat162float(hidden_states[(size_t)row * hidden_size + d]) : 0.0f;
        b[threadIdx.y][threadIdx.x] = b_inside ? __bfloat162float(weight[(size_t)weight_row * hidden_size + d]) : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += a[threadIdx.y][i] * b[threadIdx.x][i];
        __syncthreads();
    }

    if (row >= token_count || column >= out_features) return;
    // The gate is rounded to bf16 before the sigmoid.
    float gate = __bfloat162float(__float2bfloat16(sum + __bfloat162float(bias[column])));
    size_t at = (size_t)row * out_features + column;
    out[at] = __float2bfloat16(__bfloat162float(post_mul_mat[at]) / (1.0f + expf(-gate)));
}
