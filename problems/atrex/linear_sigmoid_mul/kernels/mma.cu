/*---ridgepoint
operator = "linear_sigmoid_mul"
note = "Tensor cores by mma.sync: 128 x 128 tiles behind a cp.async pipeline; few tokens go to kernels that split hidden_size over warps."
[tune]
STAGES = [3, 4, 2]
GROUP = [8, 16, 4]
[[launch]]
kernel = "linear_tiles"
grid = ["ceil_div(token_count, 128) * ceil_div(out_features, 128)"]
block = ["256"]
shared = "STAGES * 2 * 128 * 72 * 2"
when = "(token_count > 128) * (hidden_size % 8 == 0) * (out_features % 8 == 0)"
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
[[launch]]
kernel = "linear_tiles_any"
grid = ["ceil_div(token_count, 128) * ceil_div(out_features, 128)"]
block = ["256"]
shared = "STAGES * 2 * 128 * 72 * 2"
when = "1 - (hidden_size % 8 == 0) * (out_features % 8 == 0)"
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
[[launch]]
kernel = "linear_rows_64"
grid = ["ceil_div(out_features, 32)", "ceil_div(token_count, 64)"]
block = ["256"]
when = "(token_count > 16) * (token_count <= 128) * (hidden_size % 8 == 0) * (out_features % 8 == 0)"
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
[[launch]]
kernel = "linear_rows_16"
grid = ["ceil_div(out_features, 32)", "ceil_div(token_count, 16)"]
block = ["256"]
when = "(token_count <= 16) * (hidden_size % 8 == 0) * (out_features % 8 == 0)"
args = ["hidden_states", "weight", "bias", "post_mul_mat", "out", "i32:token_count", "i32:hidden_size", "i32:out_features"]
---*/
#include <cuda_bf16.h>

// out[row][column] from the sum over hidden_size; the gate is rounded to bf16 before the sigmoid.
__device__ __nv_bfloat16 gated(float sum, __nv_bfloat16 bias, __nv_bfloat16 post) {
    float gate = __bfloat162float(__float2bfloat16(sum + __bfloat162float(bias)));
    return __float2bfloat16(__fdividef(__bfloat162float(post), 1.0f + __expf(-gate)));
}

// d += a b for a 16 x 16 (row-major), b 16 x 8 (column-major), spread over the warp as mma.sync wants them.
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices; lane i gives the address of row i % 8 of matrix i / 8.
__device__ void ldmatrix(unsigned (&r)[4], const __nv_bfloat16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// 16 bytes from global to shared memory in the background; zeros where `inside` is false.
__device__ void copy_async(__nv_bfloat16* to, const __nv_bfloat16* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `PENDING` of the latest groups are unfinished.
template <int PENDING>
__device__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}

// ---- many tokens: a CTA makes 128 x 128 of the output, a warp 64 x 32 ----

constexpr int TILE = 128;
constexpr int DEPTH = 64;          // part of hidden_size per stage
constexpr int PITCH = DEPTH + 8;   // an odd number of 16-byte chunks: ldmatrix meets no bank conflict

// TILE rows of a matrix with `columns` columns. ALIGNED: columns is a multiple of 8, so that chunks are inside or outside.
template <bool ALIGNED>
__device__ void load_tile(__nv_bfloat16* tile, const __nv_bfloat16* matrix, int first, int rows, int depth, int columns) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += 256) {
        int row = first + i / (DEPTH / 8);
        int column = depth + i % (DEPTH / 8) * 8;
        __nv_bfloat16* to = tile + i / (DEPTH / 8) * PITCH + i % (DEPTH / 8) * 8;
        const __nv_bfloat16* from = matrix + (size_t)row * columns + column;
        bool inside = row < rows && column < columns;
        if (ALIGNED) {
            copy_async(to, inside ? from : matrix, inside);
        } else {
            for (int j = 0; j < 8; j++) to[j] = inside && column + j < columns ? from[j] : __float2bfloat16(0.0f);
        }
    }
}

template <bool ALIGNED>
__device__ void tiles(const __nv_bfloat16* __restrict__ hidden_states, const __nv_bfloat16* __restrict__ weight,
                      const __nv_bfloat16* __restrict__ bias, const __nv_bfloat16* __restrict__ post_mul_mat,
                      __nv_bfloat16* __restrict__ out, int token_count, int hidden_size, int out_features) {
    extern __shared__ __align__(16) __nv_bfloat16 shared[];
    // CTAs go down GROUP tiles before the next column: what is in flight at a time shares its inputs in the L2 cache.
    int row_tiles = (token_count + TILE - 1) / TILE;
    int column_tiles = (out_features + TILE - 1) / TILE;
    int group = blockIdx.x / (GROUP * column_tiles);
    int in_group = blockIdx.x % (GROUP * column_tiles);
    int height = min(GROUP, row_tiles - group * GROUP);
    int first_row = (group * GROUP + in_group % height) * TILE;
    int first_column = in_group / height * TILE;

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 128 * 64;
    int warp_column = threadIdx.x / 32 % 4 * 32;
    float sum[4][4][4] = {};

    int steps = (hidden_size + DEPTH - 1) / DEPTH;
    auto load_stage = [&](int step) {
        __nv_bfloat16* a = shared + step % STAGES * (2 * TILE * PITCH);
        if (step < steps) {
            load_tile<ALIGNED>(a, hidden_states, first_row, token_count, step * DEPTH, hidden_size);
            load_tile<ALIGNED>(a + TILE * PITCH, weight, first_column, out_features, step * DEPTH, hidden_size);
        }
        commit_copies();
    };
    for (int step = 0; step < STAGES - 1; step++) load_stage(step);

    for (int step = 0; step < steps; step++) {
        wait_copies<STAGES - 2>();
        __syncthreads();
        load_stage(step + STAGES - 1);

        const __nv_bfloat16* a = shared + step % STAGES * (2 * TILE * PITCH) + warp_row * PITCH;
        const __nv_bfloat16* b = shared + step % STAGES * (2 * TILE * PITCH) + (TILE + warp_column) * PITCH;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned rows[4][4], columns[2][4];
#pragma unroll
            for (int m = 0; m < 4; m++) ldmatrix(rows[m], a + (m * 16 + lane % 16) * PITCH + k + lane / 16 * 8);
#pragma unroll
            for (int n = 0; n < 2; n++)
                ldmatrix(columns[n], b + (n * 16 + lane / 16 * 8 + lane % 8) * PITCH + k + lane / 8 % 2 * 8);
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < 4; n++) mma(sum[m][n], rows[m], columns[n / 2][n % 2 * 2], columns[n / 2][n % 2 * 2 + 1]);
        }
    }

#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int row = first_row + warp_row + m * 16 + half * 8 + lane / 4;
                int column = first_column + warp_column + n * 8 + lane % 4 * 2;
                size_t at = (size_t)row * out_features + column;
                if (row >= token_count || column >= out_features) continue;
                if (ALIGNED) {
                    __nv_bfloat162 post = *(const __nv_bfloat162*)&post_mul_mat[at];
                    __nv_bfloat162 result;
                    result.x = gated(sum[m][n][half * 2], bias[column], post.x);
                    result.y = gated(sum[m][n][half * 2 + 1], bias[column + 1], post.y);
                    *(__nv_bfloat162*)&out[at] = result;
                } else {
                    out[at] = gated(sum[m][n][half * 2], bias[column], post_mul_mat[at]);
                    if (column + 1 < out_features)
                        out[at + 1] = gated(sum[m][n][half * 2 + 1], bias[column + 1], post_mul_mat[at + 1]);
                }
            }
}

// ---- few tokens: a CTA makes 16 * MT x 32 of the output, each of its 8 warps over an eighth of hidden_size ----

// 8 values of a row, zeros outside the matrix; `columns` is a multiple of 8.
__device__ uint4 load8(const __nv_bfloat16* matrix, int row, int rows, int column, int columns) {
    if (row >= rows || column >= columns) return make_uint4(0, 0, 0, 0);
    return *(const uint4*)(matrix + (size_t)row * columns + column);
}

template <int MT>
__device__ void rows(const __nv_bfloat16* __restrict__ hidden_states, const __nv_bfloat16* __restrict__ weight,
                     const __nv_bfloat16* __restrict__ bias, const __nv_bfloat16* __restrict__ post_mul_mat,
                     __nv_bfloat16* __restrict__ out, int token_count, int hidden_size, int out_features) {
    __shared__ float partial[8][16][32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int first_row = blockIdx.y * 16 * MT;
    int first_column = blockIdx.x * 32;
    float sum[MT][4][4] = {};

    // Any order over hidden_size is as good as another, as long as both operands use the same: a lane takes 8 neighbours
    // out of 32, one 16-byte load, and calls them what mma.sync expects from it in two steps of 16.
#pragma unroll 2
    for (int depth = warp * 32; depth < hidden_size; depth += 256) {
        int column = depth + lane % 4 * 8;
        uint4 b[4];
#pragma unroll
        for (int n = 0; n < 4; n++) b[n] = load8(weight, first_column + n * 8 + lane / 4, out_features, column, hidden_size);
#pragma unroll
        for (int m = 0; m < MT; m++) {
            uint4 upper = load8(hidden_states, first_row + m * 16 + lane / 4, token_count, column, hidden_size);
            uint4 lower = load8(hidden_states, first_row + m * 16 + 8 + lane / 4, token_count, column, hidden_size);
            unsigned first[4] = {upper.x, lower.x, upper.y, lower.y};
            unsigned second[4] = {upper.z, lower.z, upper.w, lower.w};
#pragma unroll
            for (int n = 0; n < 4; n++) {
                mma(sum[m][n], first, b[n].x, b[n].y);
                mma(sum[m][n], second, b[n].z, b[n].w);
            }
        }
    }

#pragma unroll
    for (int m = 0; m < MT; m++) {
        __syncthreads();
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) partial[warp][i / 2 * 8 + lane / 4][n * 8 + lane % 4 * 2 + i % 2] = sum[m][n][i];
        __syncthreads();
        for (int i = threadIdx.x; i < 16 * 32; i += 256) {
            int row = first_row + m * 16 + i / 32;
            int column = first_column + i % 32;
            float total = 0.0f;
            for (int w = 0; w < 8; w++) total += partial[w][i / 32][i % 32];
            size_t at = (size_t)row * out_features + column;
            if (row < token_count && column < out_features) out[at] = gated(total, bias[column], post_mul_mat[at]);
        }
    }
}

#define ENTRY(name, body, blocks_per_sm)                                                                                  \
    extern "C" __global__ void __launch_bounds__(256, blocks_per_sm)                                                      \
    name(const __nv_bfloat16* hidden_states, const __nv_bfloat16* weight, const __nv_bfloat16* bias,                      \
         const __nv_bfloat16* post_mul_mat, __nv_bfloat16* out, int token_count, int hidden_size, int out_features) {     \
        body(hidden_states, weight, bias, post_mul_mat, out, token_count, hidden_size, out_features);                     \
    }

ENTRY(linear_tiles, tiles<true>, 2)
ENTRY(linear_tiles_any, tiles<false>, 1)
ENTRY(linear_rows_64, rows<4>, 1)
ENTRY(linear_rows_16, rows<1>, 1)
