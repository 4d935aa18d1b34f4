/*---ridgepoint
operator = "attention_forward"
note = "64 queries of one head per CTA, keys in tiles of 64, online softmax, f32 throughout."
[[launch]]
kernel = "attention_to_80"
grid = ["ceil_div(total_tokens, 64) + num_seqs", "num_heads"]
block = ["128"]
shared = "4 * (128 * (align(head_dim, 8) + 4) + 64 * 68)"
when = "head_dim <= 80"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
[[launch]]
kernel = "attention_to_128"
grid = ["ceil_div(total_tokens, 64) + num_seqs", "num_heads"]
block = ["128"]
shared = "4 * (128 * (align(head_dim, 8) + 4) + 64 * 68)"
when = "head_dim > 80"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
---*/
// Per sequence and head: out = bf16(softmax(q k^T / sqrt(head_dim)) v), over all keys of the sequence (not causal).
// Tensors are [token, head, head_dim]; sequence s has the tokens cu_seqlens[s] .. cu_seqlens[s + 1].
// A sequence without keys gives zeros. head_dim is at most 128.

constexpr int QUERIES = 64;
constexpr int KEYS = 64;
constexpr int PITCH = KEYS + 4;  // of the tile of probabilities

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// To nearest, ties to even; NaN stays NaN.
__device__ unsigned short to_bf16(float value) {
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// 64 tokens of one head as f32, one row each; zeros beyond `tokens` and beyond `dim`.
__device__ void load_tile(float* tile, int pitch, const unsigned short* tensor, long long token_pitch, int tokens, int dim) {
    int padded = pitch - 4;
#pragma unroll 1
    for (int i = threadIdx.x; i < 64 * padded; i += 128) {
        int token = i / padded;
        int d = i % padded;
        bool inside = token < tokens && d < dim;
        tile[token * pitch + d] = inside ? from_bf16(tensor[token * token_pitch + d]) : 0.0f;
    }
}

// Thread (x, y) of 16 x 8 owns queries 8y .. 8y+7 of the tile, and of those the keys x, x+16, x+32, x+48 of every
// key tile and the output columns x, x+16, ... : COLUMNS of them.
template <int COLUMNS>
__device__ void attention(const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* starts_q,
                          const int* starts_k, unsigned short* out, int sequences, int heads, int dim) {
    extern __shared__ __align__(16) float shared[];
    int pitch = (dim + 7) / 8 * 8 + 4;
    float* query = shared;
    float* key = query + QUERIES * pitch;  // then the values, in the same place
    float* weight = key + KEYS * pitch;

    // Which sequence, and which tile of it, is this CTA's?
    int tile = blockIdx.x;
    int sequence = 0;
    for (; sequence < sequences; sequence++) {
        int tiles = (starts_q[sequence + 1] - starts_q[sequence] + QUERIES - 1) / QUERIES;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (sequence == sequences) return;
    int first_query = starts_q[sequence] + tile * QUERIES;
    int queries = min(QUERIES, starts_q[sequence + 1] - first_query);
    int first_key = starts_k[sequence];
    int keys = starts_k[sequence + 1] - first_key;

    int head = blockIdx.y;
    long long token_pitch = (long long)heads * dim;
    load_tile(query, pitch, q + first_query * token_pitch + head * dim, token_pitch, queries, dim);

    int x = threadIdx.x % 16;
    int y = threadIdx.x / 16;
    float scale = 1.0f / sqrtf((float)dim);
    float largest[8], total[8], sum[8][COLUMNS];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        largest[i] = -__int_as_float(0x7f800000);
        total[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) sum[i][c] = 0.0f;
    }

    for (int done = 0; done < keys; done += KEYS) {
        long long at = (first_key + done) * token_pitch + head * dim;
        __syncthreads();
        load_tile(key, pitch, k + at, token_pitch, keys - done, dim);
        __syncthreads();

        float score[8][4] = {};
#pragma unroll 1
        for (int d = 0; d < dim; d += 4) {
            float4 b[4];
#pragma unroll
            for (int j = 0; j < 4; j++) b[j] = *(float4*)&key[(x + 16 * j) * pitch + d];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float4 a = *(float4*)&query[(8 * y + i) * pitch + d];
#pragma unroll
                for (int j = 0; j < 4; j++) score[i][j] += a.x * b[j].x + a.y * b[j].y + a.z * b[j].z + a.w * b[j].w;
            }
        }

        // Online softmax: what was summed so far is scaled down to the new largest score of its row.
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float top = largest[i];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                bool real = done + x + 16 * j < keys;
                score[i][j] = real ? score[i][j] * scale : -__int_as_float(0x7f800000);
                top = fmaxf(top, score[i][j]);
            }
            for (int step = 8; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, step));

            float shrink = expf(largest[i] - top);
            largest[i] = top;
            total[i] *= shrink;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) sum[i][c] *= shrink;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float p = expf(score[i][j] - top);
                total[i] += p;
                weight[(8 * y + i) * PITCH + x + 16 * j] = p;
            }
        }

        __syncthreads();
        load_tile(key, pitch, v + at, token_pitch, keys - done, dim);
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < KEYS; j += 4) {
            float value[4][COLUMNS];
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    value[n][c] = x + 16 * c < dim ? key[(j + n) * pitch + x + 16 * c] : 0.0f;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float4 p = *(float4*)&weight[(8 * y + i) * PITCH + j];
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sum[i][c] += p.x * value[0][c] + p.y * value[1][c] + p.z * value[2][c] + p.w * value[3][c];
            }
        }
    }

#pragma unroll
    for (int i = 0; i < 8; i++) {
        float all = total[i];
        for (int step = 8; step > 0; step /= 2) all += __shfl_xor_sync(0xffffffff, all, step);
        if (8 * y + i >= queries) continue;
        unsigned short* row = out + (first_query + 8 * y + i) * token_pitch + head * dim;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            int d = x + 16 * c;
            if (d < dim) row[d] = to_bf16(keys > 0 ? sum[i][c] / all : 0.0f);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
attention_to_80(const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* starts_q,
                const int* starts_k, unsigned short* out, int sequences, int heads, int dim) {
    attention<5>(q, k, v, starts_q, starts_k, out, sequences, heads, dim);
}

extern "C" __global__ void __launch_bounds__(128)
attention_to_128(const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* starts_q,
                 const int* starts_k, unsigned short* out, int sequences, int heads, int dim) {
    attention<8>(q, k, v, starts_q, starts_k, out, sequences, heads, dim);
}
