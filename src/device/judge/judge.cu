// The judge's kernels: inputs, poison, guards, checksums and comparison where the data is, and the helpers of the clock.
//
// Everything here has a twin in Rust (element.rs, generate.rs, compare.rs) and must give the same bits: integer arithmetic and
// single correctly rounded operations only, compiled with -fmad=false. Layouts and numbers of codes are those of the twins.
//
// ridgepoint-options: -fmad=false

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
typedef unsigned char u8;

#define GOLDEN 0x9e3779b97f4a7c15ull
#define NONE 0xffffffffffffffffull
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)

// In the order of DType.
enum { F64, F32, F16, BF16, E4M3FN, E4M3FNUZ, E5M2, I64, I32, I8, U32, U8 };

static __device__ __forceinline__ u64 first_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ u64 index_step() { return (u64)gridDim.x * blockDim.x; }

static __device__ __forceinline__ u64 mix(u64 word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return word ^ (word >> 31);
}

static __device__ __forceinline__ u64 scale(u64 random, u64 range) { return __umul64hi(random, range); }

// ---- elements ----

static __device__ __forceinline__ u32 size_of(u32 dtype)
{
    switch (dtype) {
    case F64: case I64: return 8;
    case F32: case I32: case U32: return 4;
    case F16: case BF16: return 2;
    default: return 1;
    }
}

static __device__ __forceinline__ bool is_narrow(u32 dtype) { return dtype >= F16 && dtype <= E5M2; }

static __device__ __forceinline__ u32 mantissa_bits(u32 dtype)
{
    switch (dtype) {
    case F16: return 10;
    case BF16: return 7;
    case E5M2: return 2;
    default: return 3;
    }
}

static __device__ __forceinline__ i64 bias_of(u32 dtype)
{
    switch (dtype) {
    case F16: case E5M2: return 15;
    case BF16: return 127;
    case E4M3FN: return 7;
    default: return 8;
    }
}

// The magnitude code of the largest finite value.
static __device__ __forceinline__ u64 max_code(u32 dtype)
{
    switch (dtype) {
    case F16: return 0x7bff;
    case BF16: return 0x7f7f;
    case E4M3FN: return 0x7e;
    case E4M3FNUZ: return 0x7f;
    default: return 0x7b;
    }
}

static __device__ __forceinline__ u64 load(const u8 *data, u32 dtype, u64 index)
{
    switch (size_of(dtype)) {
    case 8: return ((const u64 *)data)[index];
    case 4: return ((const u32 *)data)[index];
    case 2: return ((const unsigned short *)data)[index];
    default: return data[index];
    }
}

static __device__ __forceinline__ void store(u8 *data, u32 dtype, u64 index, u64 bits)
{
    switch (size_of(dtype)) {
    case 8: ((u64 *)data)[index] = bits; break;
    case 4: ((u32 *)data)[index] = (u32)bits; break;
    case 2: ((unsigned short *)data)[index] = (unsigned short)bits; break;
    default: data[index] = (u8)bits;
    }
}

static __device__ __forceinline__ double decode_narrow(u32 dtype, u64 bits)
{
    u64 sign = 1ull << (size_of(dtype) * 8 - 1);
    u64 magnitude = bits & (sign - 1);
    bool negative = (bits & sign) != 0;
    u64 largest = max_code(dtype);
    bool ieee = dtype == F16 || dtype == BF16 || dtype == E5M2;
    if (dtype == E4M3FNUZ && negative && magnitude == 0) return NOT_A_NUMBER;
    if (magnitude > largest && !(ieee && magnitude == largest + 1)) return NOT_A_NUMBER;
    double value;
    if (magnitude > largest) {
        value = INFINITE;
    } else {
        u32 width = mantissa_bits(dtype);
        u64 mantissa = magnitude & ((1ull << width) - 1);
        i64 exponent = (i64)(magnitude >> width);
        i64 power = (exponent > 1 ? exponent : 1) - bias_of(dtype) - width;
        u64 hidden = exponent == 0 ? 0 : 1ull << width;
        value = (double)(mantissa + hidden) * __longlong_as_double((power + 1023) << 52);
    }
    return negative ? -value : value;
}

static __device__ __forceinline__ double decode(u32 dtype, u64 bits)
{
    switch (dtype) {
    case F64: return __longlong_as_double((i64)bits);
    case F32: return (double)__uint_as_float((u32)bits);
    case BF16: return (double)__uint_as_float((u32)bits << 16);
    case I64: return (double)(i64)bits;
    case I32: return (double)(int)(u32)bits;
    case I8: return (double)(signed char)(u8)bits;
    case U32: return (double)(u32)bits;
    case U8: return (double)(u8)bits;
    default: return decode_narrow(dtype, bits);
    }
}

static __device__ __forceinline__ u64 encode_narrow(u32 dtype, double value)
{
    u64 bits = (u64)__double_as_longlong(value);
    u64 field = (bits >> 52) & 0x7ff;
    u64 full = (bits & 0xfffffffffffffull) | (1ull << 52);
    i64 exponent = (i64)field - 1023;
    i64 lowest = 1 - bias_of(dtype);
    i64 target = exponent > lowest ? exponent : lowest;
    u32 width = mantissa_bits(dtype);
    i64 shift = (i64)(52 - width) + (target - exponent);
    u64 code = 0;
    if (field != 0 && shift < 54) {
        u64 steps = full >> shift;
        u64 rest = full & ((1ull << shift) - 1);
        u64 half = 1ull << (shift - 1);
        u64 up = rest > half || (rest == half && (steps & 1) == 1) ? 1 : 0;
        code = steps + up + ((u64)(target - lowest) << width);
        if (code > max_code(dtype)) code = max_code(dtype);
    }
    if (code == 0 && dtype == E4M3FNUZ) return 0;
    return code | ((bits >> 63) << (size_of(dtype) * 8 - 1));
}

static __device__ __forceinline__ u64 clamp_integer(u32 dtype, i64 value)
{
    i64 low, high;
    switch (dtype) {
    case I64: return (u64)value;
    case I32: low = -2147483648ll; high = 2147483647ll; break;
    case I8: low = -128; high = 127; break;
    case U32: low = 0; high = 4294967295ll; break;
    default: low = 0; high = 255; break;
    }
    value = value < low ? low : value > high ? high : value;
    return dtype == I8 ? (u64)(u8)value : (u64)(u32)value;
}

static __device__ __forceinline__ u64 encode(u32 dtype, double value)
{
    if (is_narrow(dtype)) return encode_narrow(dtype, value);
    if (dtype == F64) return (u64)__double_as_longlong(value);
    if (dtype == F32) return (u64)__float_as_uint(__double2float_rn(value));
    double nearest = rint(value);
    i64 whole;
    if (nearest >= 9223372036854775808.0) whole = 0x7fffffffffffffffll;
    else if (nearest <= -9223372036854775808.0) whole = -0x7fffffffffffffffll - 1;
    else whole = (i64)nearest;
    return clamp_integer(dtype, whole);
}

static __device__ __forceinline__ u64 encode_integer(u32 dtype, i64 value)
{
    return dtype >= I64 ? clamp_integer(dtype, value) : encode(dtype, (double)value);
}

static __device__ __forceinline__ bool is_nan(double value)
{
    return ((u64)__double_as_longlong(value) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

static __device__ __forceinline__ bool is_finite(double value)
{
    return ((u64)__double_as_longlong(value) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
}

static __device__ __forceinline__ i64 order(u32 dtype, u64 bits)
{
    u32 width = size_of(dtype) * 8;
    if (dtype == U32 || dtype == U8) return (i64)bits;
    if (dtype >= I64) return ((i64)(bits << (64 - width))) >> (64 - width);
    u64 sign = 1ull << (width - 1);
    i64 magnitude = (i64)(bits & (sign - 1));
    return (bits & sign) == 0 ? magnitude : -magnitude;
}

static __device__ __forceinline__ u64 distance(u32 dtype, u64 a, u64 b, bool a_nan, bool b_nan)
{
    if (a_nan && b_nan) return 0;
    if (a_nan || b_nan) return NONE >> (64 - size_of(dtype) * 8);
    i64 x = order(dtype, a), y = order(dtype, b);
    return x > y ? (u64)x - (u64)y : (u64)y - (u64)x;
}

// ---- inputs ----

struct Program {
    u32 code;
    u64 key, elements;
    double a, b;
    u64 m, n;
};

enum { NORMAL, UNIFORM, WIDE, TIES, RAMP, INTEGERS, PERMUTATION, OFFSETS };

static __device__ __forceinline__ u64 word(const Program &p, u64 index, u64 number)
{
    return mix(p.key + (index * 4 + number + 1) * GOLDEN);
}

static __device__ __forceinline__ double normal(const Program &p, u64 index)
{
    i64 sum = -393210;
    for (u64 number = 0; number < 3; number++) {
        u64 random = word(p, index, number);
        sum += (i64)((random & 0xffff) + ((random >> 16) & 0xffff) + ((random >> 32) & 0xffff) + (random >> 48));
    }
    return (double)sum * (1.0 / 65536.0);
}

static __device__ __forceinline__ double real(const Program &p, u64 index)
{
    switch (p.code) {
    case NORMAL: {
        double value = normal(p, index) * p.a + p.b;
        bool outlier = p.m != 0 && scale(word(p, index, 3), p.m) == 0;
        return outlier ? value * __longlong_as_double((i64)p.n) : value;
    }
    case UNIFORM: {
        double unit = (double)(word(p, index, 0) >> 11) * (1.0 / 9007199254740992.0);
        return p.a + unit * p.b;
    }
    case WIDE: {
        u64 random = word(p, index, 0);
        u64 exponent = (u64)((i64)p.m + (i64)scale(word(p, index, 1), p.n) + 1023);
        return __longlong_as_double((i64)((random & (1ull << 63)) | (exponent << 52) | (random & 0xfffffffffffffull)));
    }
    case TIES: return rint(normal(p, index) * p.a / p.b) * p.b;
    default: return p.a + p.b * (double)index;
    }
}

static __device__ __forceinline__ u64 permuted(const Program &p, u64 index)
{
    u64 mask = (1ull << p.m) - 1;
    u64 value = index;
    do {
        u64 left = value >> p.m, right = value & mask;
        for (u64 round = 0; round < 4; round++) {
            u64 mixed = mix(p.key ^ mix(right + (round + 1) * GOLDEN)) & mask;
            u64 next = left ^ mixed;
            left = right;
            right = next;
        }
        value = (left << p.m) | right;
    } while (value >= p.elements);
    return value;
}

static __device__ __forceinline__ u64 start_of(const Program &p, u64 index)
{
    u64 parts = p.elements > 0 ? p.elements - 1 : 0;
    return index * p.m + (parts == 0 ? 0 : index * p.n / parts);
}

static __device__ __forceinline__ u64 offset(const Program &p, u64 index)
{
    u64 start = start_of(p, index);
    if (index == 0 || index + 1 >= p.elements) return start;
    return start + scale(word(p, index, 0), start_of(p, index + 1) - start);
}

static __device__ __forceinline__ u64 element(const Program &p, u32 dtype, u64 index)
{
    switch (p.code) {
    case INTEGERS: return encode_integer(dtype, (i64)(p.m + scale(word(p, index, 0), p.n)));
    case PERMUTATION: return encode_integer(dtype, (i64)permuted(p, index));
    case OFFSETS: return encode_integer(dtype, (i64)offset(p, index));
    default: return encode(dtype, real(p, index));
    }
}

extern "C" __global__ void judge_generate(u8 *out, u32 dtype, u32 code, u64 key, u64 elements, double a, double b, u64 m, u64 n)
{
    Program p = {code, key, elements, a, b, m, n};
    for (u64 i = first_index(); i < elements; i += index_step()) store(out, dtype, i, element(p, dtype, i));
}

// ---- whole buffers ----

// `pattern` is the element repeated to 8 bytes.
extern "C" __global__ void judge_fill(u8 *out, u64 bytes, u64 pattern)
{
    u64 words = bytes / 8;
    for (u64 i = first_index(); i < words; i += index_step()) ((u64 *)out)[i] = pattern;
    u64 i = words * 8 + first_index();
    if (i < bytes) out[i] = (u8)(pattern >> (8 * (i % 8)));
}

extern "C" __global__ void judge_halve(const u8 *from, u8 *to, u32 dtype, u64 elements)
{
    for (u64 i = first_index(); i < elements; i += index_step()) {
        u64 bits = load(from, dtype, i);
        double value = decode(dtype, bits);
        store(to, dtype, i, is_finite(value) ? encode(dtype, value * 0.5) : bits);
    }
}

// Adds the sum over this grid's words to *sum; the host does the last step.
extern "C" __global__ void judge_checksum(const u8 *data, u64 bytes, u64 *sum)
{
    u64 words = (bytes + 7) / 8, own = 0;
    for (u64 i = first_index(); i < words; i += index_step()) {
        u64 value = 0;
        if (i * 8 + 8 <= bytes) value = ((const u64 *)data)[i];
        else for (u64 at = i * 8; at < bytes; at++) value |= (u64)data[at] << (8 * (at % 8));
        own += mix(mix(i + GOLDEN) ^ value);
    }
    __shared__ u64 sums[256];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (u32 stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) sums[threadIdx.x] += sums[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, sums[0]);
}

// ---- guards: `first` is the offset of data[0] from the buffer's start ----

static __device__ __forceinline__ u8 guard_byte(i64 at) { return (u8)mix((u64)at ^ GOLDEN); }

extern "C" __global__ void judge_guard_fill(u8 *data, i64 first, u64 bytes)
{
    for (u64 i = first_index(); i < bytes; i += index_step()) data[i] = guard_byte(first + (i64)i);
}

// The lowest offset whose byte has changed goes to *lowest.
extern "C" __global__ void judge_guard_check(const u8 *data, i64 first, u64 bytes, i64 *lowest)
{
    for (u64 i = first_index(); i < bytes; i += index_step()) {
        if (data[i] != guard_byte(first + (i64)i)) atomicMin(lowest, first + (i64)i);
    }
}

extern "C" __global__ void judge_gather(const u8 *data, u32 dtype, const u64 *indices, u64 *out, u32 count)
{
    u64 i = first_index();
    if (i < count) out[i] = load(data, dtype, indices[i]);
}

// ---- comparison ----

#define CHUNK 16384
#define LANES 256
#define MAP_ROWS 12
#define MAP_COLS 24
#define PERIOD 128
#define COUNTS (MAP_ROWS * MAP_COLS + 2 * PERIOD)

struct Part {
    u64 mismatches, over, different, nan, inf, unwritten, zeros, max_ulp, first, last, worst, col_min, col_max, ratios;
    double max_abs, max_rel, sum_diff, sum_want, rank, ratio_lo, ratio_hi, diff_lo, diff_hi;
};

static __device__ __forceinline__ void raise(double &high, double value) { if (value > high) high = value; }
static __device__ __forceinline__ void lower(double &low, double value) { if (value < low) low = value; }
static __device__ __forceinline__ void raise(u64 &high, u64 value) { if (value > high) high = value; }
static __device__ __forceinline__ void lower(u64 &low, u64 value) { if (value < low) low = value; }

static __device__ __forceinline__ void offer(Part &p, double rank, u64 index)
{
    if (rank > p.rank || (rank == p.rank && index < p.worst)) {
        p.rank = rank;
        p.worst = index;
    }
}

static __device__ __forceinline__ Part empty_part()
{
    Part p;
    p.mismatches = p.over = p.different = p.nan = p.inf = p.unwritten = p.zeros = p.max_ulp = 0;
    p.last = p.col_max = p.ratios = 0;
    p.first = p.worst = p.col_min = NONE;
    p.max_abs = p.max_rel = p.sum_diff = p.sum_want = 0.0;
    p.rank = -1.0;
    p.ratio_lo = p.diff_lo = INFINITE;
    p.ratio_hi = p.diff_hi = -INFINITE;
    return p;
}

static __device__ __forceinline__ void merge(Part &p, const Part &o)
{
    p.mismatches += o.mismatches;
    p.over += o.over;
    p.different += o.different;
    p.nan += o.nan;
    p.inf += o.inf;
    p.unwritten += o.unwritten;
    p.zeros += o.zeros;
    raise(p.max_ulp, o.max_ulp);
    lower(p.first, o.first);
    raise(p.last, o.last);
    lower(p.col_min, o.col_min);
    raise(p.col_max, o.col_max);
    p.ratios += o.ratios;
    raise(p.max_abs, o.max_abs);
    raise(p.max_rel, o.max_rel);
    p.sum_diff += o.sum_diff;
    p.sum_want += o.sum_want;
    offer(p, o.rank, o.worst);
    lower(p.ratio_lo, o.ratio_lo);
    raise(p.ratio_hi, o.ratio_hi);
    lower(p.diff_lo, o.diff_lo);
    raise(p.diff_hi, o.diff_hi);
}

struct Spec {
    u32 dtype;
    u64 poison, rows, cols;
    u32 map_rows, map_cols, rule;
    double atol, rtol, cap;
    u64 max_distance;
};

static __device__ __forceinline__ void note_mismatch(const Spec &s, Part &p, u32 *counts, u64 index, double got, double want, bool finite)
{
    u64 row = index / s.cols, col = index % s.cols;
    lower(p.first, index);
    raise(p.last, index);
    lower(p.col_min, col);
    raise(p.col_max, col);
    u64 cell = (row * s.map_rows / s.rows) * MAP_COLS + col * s.map_cols / s.cols;
    atomicAdd(&counts[cell], 1u);
    atomicAdd(&counts[MAP_ROWS * MAP_COLS + col % PERIOD], 1u);
    atomicAdd(&counts[MAP_ROWS * MAP_COLS + PERIOD + row % PERIOD], 1u);
    if (got == 0.0) p.zeros++;
    if (finite) {
        lower(p.diff_lo, got - want);
        raise(p.diff_hi, got - want);
        if (want != 0.0) {
            p.ratios++;
            lower(p.ratio_lo, got / want);
            raise(p.ratio_hi, got / want);
        }
    }
}

static __device__ __forceinline__ void look(const Spec &s, Part &p, u32 *counts, u64 index, u64 got_bits, u64 want_bits)
{
    double got = decode(s.dtype, got_bits), want = decode(s.dtype, want_bits);
    bool got_nan = is_nan(got), want_nan = is_nan(want);
    bool finite = is_finite(got) && is_finite(want);
    if (got_nan) p.nan++;
    else if (!is_finite(got)) p.inf++;
    if (finite) p.sum_want += want * want;
    if (got_bits == want_bits || (got_nan && want_nan)) return;
    if (got_bits == s.poison) p.unwritten++;
    u64 steps = distance(s.dtype, got_bits, want_bits, got_nan, want_nan);
    if (steps == 0 && s.rule != 1) return;
    p.different++;
    raise(p.max_ulp, steps);
    double diff = finite ? got - want : INFINITE;
    double size = fabs(diff);
    raise(p.max_abs, size);
    if (want != 0.0 && !want_nan) raise(p.max_rel, finite ? size / fabs(want) : INFINITE);
    if (finite) p.sum_diff += diff * diff;
    bool mismatch = true, over = true;
    double rank = (double)steps;
    if (s.rule == 0) {
        double tolerance = s.atol + s.rtol * fabs(want);
        bool infinite = !finite;
        mismatch = infinite || size > tolerance;
        over = infinite || size > tolerance * s.cap;
        rank = infinite ? INFINITE : size / tolerance;
    } else if (s.rule == 2) {
        over = steps > s.max_distance;
    }
    offer(p, rank, index);
    if (!mismatch) return;
    p.mismatches++;
    if (over) p.over++;
    note_mismatch(s, p, counts, index, got, want, finite);
}

// One CTA of LANES threads for each chunk: parts[chunk], and counts[] added up over all.
extern "C" __global__ void __launch_bounds__(LANES)
judge_compare(const u8 *got, const u8 *want, u32 dtype, u64 poison, u64 elements, u64 rows, u64 cols, u32 map_rows, u32 map_cols,
              u32 rule, double atol, double rtol, double cap, u64 max_distance, Part *parts, u64 *counts)
{
    __shared__ Part lanes[LANES / 2];
    __shared__ u32 own_counts[COUNTS];
    for (u32 i = threadIdx.x; i < COUNTS; i += LANES) own_counts[i] = 0;
    __syncthreads();
    Spec s = {dtype, poison, rows, cols, map_rows, map_cols, rule, atol, rtol, cap, max_distance};
    u64 first = (u64)blockIdx.x * CHUNK;
    u64 end = first + CHUNK < elements ? first + CHUNK : elements;
    Part own = empty_part();
    for (u64 i = first + threadIdx.x; i < end; i += LANES) {
        look(s, own, own_counts, i, load(got, dtype, i), load(want, dtype, i));
    }
    for (u32 stride = LANES / 2; stride > 0; stride /= 2) {
        if (threadIdx.x >= stride && threadIdx.x < 2 * stride) lanes[threadIdx.x - stride] = own;
        __syncthreads();
        if (threadIdx.x < stride) merge(own, lanes[threadIdx.x]);
        __syncthreads();
    }
    if (threadIdx.x == 0) parts[blockIdx.x] = own;
    for (u32 i = threadIdx.x; i < COUNTS; i += LANES) {
        if (own_counts[i] != 0) atomicAdd(&counts[i], (u64)own_counts[i]);
    }
}

// ---- the clock's helpers ----

extern "C" __global__ void judge_empty() {}

static __device__ __forceinline__ u64 now()
{
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

// Holds the stream until the host sets *flag to `ticket` or later, or `limit` nanoseconds have passed: then *late becomes `ticket`.
extern "C" __global__ void judge_block(volatile u32 *flag, u32 ticket, u64 limit, volatile u32 *late)
{
    u64 start = now();
    while ((int)(*flag - ticket) < 0) {
        if (now() - start > limit) {
            *late = ticket;
            break;
        }
    }
}

// Runs for at least `length` nanoseconds by the global timer and says how long it was.
extern "C" __global__ void judge_busy(u64 length, u64 *took)
{
    u64 start = now(), end;
    do { end = now(); } while (end - start < length);
    *took = end - start;
}

extern "C" __global__ void judge_flush_write(u64 *data, u64 words, u64 value)
{
    for (u64 i = first_index(); i < words; i += index_step()) data[i] = value + i;
}

// The write never happens; it keeps the reads.
extern "C" __global__ void judge_flush_read(const u64 *data, u64 words, u64 *sink)
{
    u64 sum = 0;
    for (u64 i = first_index(); i < words; i += index_step()) sum += mix(data[i]);
    if (sum == GOLDEN) *sink = sum;
}
