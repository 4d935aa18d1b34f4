/*---ridgepoint
operator = "linear_sigmoid_mul"
note = "A 128 x 128 tile of the output per CTA, 8 x 8 of it per thread, f32 throughout."
[[launch]]
kernel = "linear_sigmoid_mul"
grid = ["max(ceil_div(token_count, 128), 1) * max(ceil_div(out_features, 128), 1)"]
block = ["256"]
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
---*/
// gate = bf16(hidden_states weight^T + bias); out = bf16(sigmoid(gate) * post_mul_mat).
// The products are summed in f32; the gate is rounded to bf16 before the sigmoid.

constexpr int TILE = 128;  // rows and columns of a CTA's part of the output
constexpr int DEPTH = 16;  // part of hidden_size that is in shared memory at a time
constexpr int PITCH = TILE + 4;

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// To nearest, ties to even; NaN stays NaN.
__device__ unsigned short to_bf16(float value) {
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Columns [depth, depth + DEPTH) of TILE rows from `first`, transposed; zeros outside the matrix.
__device__ void load_tile(float (*tile)[PITCH], const unsigned short* matrix, int first, int rows, int depth, int columns) {
#pragma unroll 1
    for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
        int row = first + i / DEPTH;
        int column = depth + i % DEPTH;
        bool inside = row < rows && column < columns;
        tile[i % DEPTH][i / DEPTH] = inside ? from_bf16(matrix[(long long)row * columns + column]) : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(256)
linear_sigmoid_mul(const unsigned short* hidden_states, const unsigned short* weight, const unsigned short* bias,
                   const unsigned short* post_mul_mat, unsigned short* out, int token_count, int hidden_size,
                   int out_features) {
    __shared__ __align__(16) float a[DEPTH][PITCH];
    __shared__ __align__(16) float b[DEPTH][PITCH];
    int column_tiles = (out_features + TILE - 1) / TILE;
    int first_row = blockIdx.x / column_tiles * TILE;
    int first_column = blockIdx.x % column_tiles * TILE;

    // A thread owns rows 4y..4y+3 and 64+4y.., columns 4x.. and 64+4x..: four neighbours load as one vector.
    int x = threadIdx.x % 16 * 4;
    int y = threadIdx.x / 16 * 4;
    float sum[8][8] = {};
    for (int depth = 0; depth < hidden_size; depth += DEPTH) {
        load_tile(a, hidden_states, first_row, token_count, depth, hidden_size);
        load_tile(b, weight, first_column, out_features, depth, hidden_size);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < DEPTH; d++) {
            float rows[8], columns[8];
            *(float4*)&rows[0] = *(float4*)&a[d][y];
            *(float4*)&rows[4] = *(float4*)&a[d][64 + y];
            *(float4*)&columns[0] = *(float4*)&b[d][x];
            *(float4*)&columns[4] = *(float4*)&b[d][64 + x];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += rows[i] * columns[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = first_row + y + i % 4 + i / 4 * 64;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int column = first_column + x + j % 4 + j / 4 * 64;
            if (row >= token_count || column >= out_features) continue;
            float gate = from_bf16(to_bf16(sum[i][j] + from_bf16(bias[column])));
            long long at = (long long)row * out_features + column;
            out[at] = to_bf16(from_bf16(post_mul_mat[at]) / (1.0f + expf(-gate)));
        }
    }
}
