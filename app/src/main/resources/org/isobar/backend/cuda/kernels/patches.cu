// Images to tokens and back. A token is a patch of P x P pixels of each channel; tokens are ordered by rows of patches.
//   tokens (B, T, C*P*P), of type T; image (B, C, H, W) float
// A token's values are ordered (c, p, q), channel first, or (p, q, c), channel last.
#include "common.cuh"

constexpr int THREADS = 256;
constexpr int STRETCH = 64;  // pixels of a line that a block takes, channel last
constexpr int CHANNELS = 32; // channels that it takes at a time

template <int N, typename To, typename From>
__device__ __forceinline__ void convert(To* to, const From* from) {
    float value[N];
    load(value, from);
    store(to, value);
}

// A block takes the lines of one channel of a row of patches, in the order of the tokens: it writes P*P values of each
// token and reads its lines. Blocks: (row of patches, channel, sample). Calls move(value, pixel) for N neighbours.
template <int N, typename Move>
__device__ __forceinline__ void channel_first(int channels, int height, int width, int patch, Move move) {
    int in_row = patch / N;
    int in_patch = patch * in_row;
    int across = width / patch;
    long long field = static_cast<long long>(blockIdx.z) * channels + blockIdx.y;
    long long line = field * height + static_cast<long long>(blockIdx.x) * patch;
    long long token = (static_cast<long long>(blockIdx.z) * gridDim.x + blockIdx.x) * across;
    int area = patch * patch;
    for (int i = threadIdx.x; i < across * in_patch; i += THREADS) {
        int j = i / in_patch;
        int p = (i - j * in_patch) / in_row;
        int q = (i - j * in_patch - p * in_row) * N;
        move(((token + j) * channels + blockIdx.y) * area + p * patch + q, (line + p) * width + j * patch + q);
    }
}

template <typename Move>
__device__ __forceinline__ void channel_first(bool aligned_tensors, int channels, int height, int width, int patch,
    Move move) {
    if (aligned_tensors && patch % 4 == 0) {
        channel_first<4>(channels, height, width, patch,
            [&](long long value, long long pixel) { move(value, pixel, Count<4>()); });
    } else {
        channel_first<1>(channels, height, width, patch,
            [&](long long value, long long pixel) { move(value, pixel, Count<1>()); });
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) patchify_channel_first(T* tokens, const float* image,
    int channels, int height, int width, int patch) {
    channel_first(aligned(tokens, image), channels, height, width, patch,
        [&](long long value, long long pixel, auto count) {
            convert<decltype(count)::value>(tokens + value, image + pixel);
        });
}

extern "C" __global__ void __launch_bounds__(THREADS) unpatchify_channel_first(float* image, const T* tokens,
    int channels, int height, int width, int patch) {
    channel_first(aligned(tokens, image), channels, height, width, patch,
        [&](long long value, long long pixel, auto count) {
            convert<decltype(count)::value>(image + pixel, tokens + value);
        });
}

// A block takes a segment of one line of pixels of all channels, transposed in shared memory. It accesses neighbouring
// pixels of each channel, and P*C neighbouring values of the tokens. Blocks: (segment, line, sample).
struct Stretch {
    long long line; // first pixel of channel 0
    long long field;
    long long token; // first token of the row of patches
    int left;        // first column
    int columns;
    int p;
};

__device__ __forceinline__ Stretch stretch(int channels, int height, int width, int patch) {
    int left = blockIdx.x * STRETCH;
    int y = blockIdx.y;
    long long field = static_cast<long long>(height) * width;
    return {blockIdx.z * channels * field + static_cast<long long>(y) * width + left, field,
        (static_cast<long long>(blockIdx.z) * (height / patch) + y / patch) * (width / patch), left,
        min(STRETCH, width - left), y % patch};
}

// Calls move(c, x, pixel) for pixels of channels `first` to `first + count`, neighbours in x for neighbouring threads.
template <typename Move>
__device__ __forceinline__ void each_pixel(Stretch s, int first, int count, Move move) {
    for (int i = threadIdx.x; i < count * STRETCH; i += THREADS) {
        int c = i / STRETCH;
        int x = i % STRETCH;
        if (x < s.columns) {
            move(c, x, s.line + (first + c) * s.field + x);
        }
    }
}

// Calls move(c, x, value) for the same elements, neighbours in the tokens for neighbouring threads.
template <typename Move>
__device__ __forceinline__ void each_value(Stretch s, int first, int count, int channels, int patch, Move move) {
    for (int i = threadIdx.x; i < count * s.columns; i += THREADS) {
        int x = i / count;
        int c = i - x * count;
        int j = (s.left + x) / patch;
        int q = s.left + x - j * patch;
        move(c, x, ((s.token + j) * patch * patch + s.p * patch + q) * channels + first + c);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) patchify_channel_last(T* tokens, const float* image,
    int channels, int height, int width, int patch) {
    __shared__ float tile[CHANNELS][STRETCH + 1];
    Stretch s = stretch(channels, height, width, patch);
    for (int first = 0; first < channels; first += CHANNELS) {
        int count = min(CHANNELS, channels - first);
        each_pixel(s, first, count, [&](int c, int x, long long pixel) { tile[c][x] = image[pixel]; });
        __syncthreads();
        each_value(s, first, count, channels, patch,
            [&](int c, int x, long long value) { tokens[value] = from_float<T>(tile[c][x]); });
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) unpatchify_channel_last(float* image, const T* tokens,
    int channels, int height, int width, int patch) {
    __shared__ float tile[CHANNELS][STRETCH + 1];
    Stretch s = stretch(channels, height, width, patch);
    for (int first = 0; first < channels; first += CHANNELS) {
        int count = min(CHANNELS, channels - first);
        each_value(s, first, count, channels, patch,
            [&](int c, int x, long long value) { tile[c][x] = to_float(tokens[value]); });
        __syncthreads();
        each_pixel(s, first, count, [&](int c, int x, long long pixel) { image[pixel] = tile[c][x]; });
        __syncthreads();
    }
}
