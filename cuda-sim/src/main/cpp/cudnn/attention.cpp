// The mathematics of attention, in exact loops: products and sums in double precision, results rounded once.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "blas/numbers.h"
#include "sdpa.h"
#include "sim.h"

namespace cudnn {
namespace {

constexpr int DRIVER_INVALID_VALUE = 1;
constexpr double STATISTICS_TOLERANCE = 0.02;
constexpr double SLOW_MILLISECONDS = 1000;

using Matrix = std::vector<double>;

// The rows of one head of one sample.
Matrix head(const Strided& tensor, int64_t b, int64_t h) {
    Matrix rows(static_cast<size_t>(tensor.extents[2] * tensor.extents[3]));
    for (int64_t t = 0; t < tensor.extents[2]; ++t) {
        for (int64_t d = 0; d < tensor.extents[3]; ++d) {
            auto at = static_cast<size_t>(b * tensor.strides[0] + h * tensor.strides[1] + t * tensor.strides[2] + d);
            const void* element = tensor.data + at * bytesOf(tensor.type);
            uint16_t half;
            float single;
            memcpy(&half, element, sizeof half);
            if (tensor.type == F32) {
                memcpy(&single, element, sizeof single);
            }
            rows[static_cast<size_t>(t * tensor.extents[3] + d)] =
                tensor.type == F32 ? single : tensor.type == F16 ? sim::fromHalf(half) : sim::fromBf16(half);
        }
    }
    return rows;
}

void store(const Strided& tensor, int64_t b, int64_t h, const Matrix& rows) {
    for (int64_t t = 0; t < tensor.extents[2]; ++t) {
        for (int64_t d = 0; d < tensor.extents[3]; ++d) {
            auto at = static_cast<size_t>(b * tensor.strides[0] + h * tensor.strides[1] + t * tensor.strides[2] + d);
            char* element = tensor.data + at * bytesOf(tensor.type);
            auto value = static_cast<float>(rows[static_cast<size_t>(t * tensor.extents[3] + d)]);
            if (tensor.type == F32) {
                memcpy(element, &value, sizeof value);
            } else {
                uint16_t half = tensor.type == F16 ? blas::toHalf(value) : blas::toBf16(value);
                memcpy(element, &half, sizeof half);
            }
        }
    }
}

// The rows of a times the rows of b: (m, n) of (m, k) and (n, k).
Matrix products(const Matrix& a, const Matrix& b, size_t m, size_t n, double factor) {
    size_t k = a.size() / m;
    Matrix c(m * n);
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (size_t d = 0; d < k; ++d) {
                sum += a[i * k + d] * b[j * k + d];
            }
            c[i * n + j] = factor * sum;
        }
    }
    return c;
}

// weights (m, n) times rows (n, k), or the transpose of (n, m) weights.
Matrix sums(const Matrix& weights, const Matrix& rows, size_t m, size_t n, bool transposed, double factor) {
    size_t k = rows.size() / n;
    Matrix c(m * k);
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
            double weight = factor * (transposed ? weights[j * m + i] : weights[i * n + j]);
            for (size_t d = 0; d < k; ++d) {
                c[i * k + d] += weight * rows[j * k + d];
            }
        }
    }
    return c;
}

void forward(const Sdpa& sdpa, int64_t b, int64_t h) {
    auto queries = static_cast<size_t>(sdpa.tensors[Q].extents[2]);
    auto keys = static_cast<size_t>(sdpa.tensors[K].extents[2]);
    Matrix weights = products(head(sdpa.tensors[Q], b, h), head(sdpa.tensors[K], b, h), queries, keys,
        static_cast<double>(sdpa.scale));
    Matrix statistics(queries);
    for (size_t i = 0; i < queries; ++i) {
        double* row = &weights[i * keys];
        double most = row[0];
        for (size_t j = 1; j < keys; ++j) {
            most = std::fmax(most, row[j]);
        }
        double sum = 0;
        for (size_t j = 0; j < keys; ++j) {
            sum += std::exp(row[j] - most);
        }
        statistics[i] = most + std::log(sum);
        for (size_t j = 0; j < keys; ++j) {
            row[j] = std::exp(row[j] - statistics[i]);
        }
    }
    store(sdpa.tensors[O], b, h, sums(weights, head(sdpa.tensors[V], b, h), queries, keys, false, 1));
    store(sdpa.tensors[STATS], b, h, statistics);
}

void backward(const Sdpa& sdpa, int64_t b, int64_t h, double dkFactor) {
    auto queries = static_cast<size_t>(sdpa.tensors[Q].extents[2]);
    auto keys = static_cast<size_t>(sdpa.tensors[K].extents[2]);
    auto scale = static_cast<double>(sdpa.scale);
    Matrix q = head(sdpa.tensors[Q], b, h);
    Matrix k = head(sdpa.tensors[K], b, h);
    Matrix gradient = head(sdpa.tensors[DO], b, h);
    Matrix out = head(sdpa.tensors[O], b, h);
    Matrix statistics = head(sdpa.tensors[STATS], b, h);
    Matrix weights = products(q, k, queries, keys, scale);
    Matrix slopes = products(gradient, head(sdpa.tensors[V], b, h), queries, keys, 1);
    size_t channels = q.size() / queries;
    for (size_t i = 0; i < queries; ++i) {
        double total = 0;
        double delta = 0;
        for (size_t d = 0; d < channels; ++d) {
            delta += gradient[i * channels + d] * out[i * channels + d];
        }
        for (size_t j = 0; j < keys; ++j) {
            double& weight = weights[i * keys + j];
            weight = std::exp(weight - statistics[i]);
            total += weight;
            slopes[i * keys + j] = weight * (slopes[i * keys + j] - delta);
        }
        if (!(std::fabs(total - 1) < STATISTICS_TOLERANCE) && std::isfinite(total)) {
            sim_fail(DRIVER_INVALID_VALUE, format("%s: STATS of sample %ld, head %ld, query %zu are not the natural "
                "logarithm of the sum of exponentials of the scaled scores: with them, the weights add up to %g",
                nameOf(sdpa).c_str(), static_cast<long>(b), static_cast<long>(h), i, total).c_str());
        }
    }
    store(sdpa.tensors[DV], b, h, sums(weights, gradient, keys, queries, true, 1));
    store(sdpa.tensors[DQ], b, h, sums(slopes, k, queries, keys, false, scale));
    store(sdpa.tensors[DK], b, h, sums(slopes, q, keys, queries, true, dkFactor * scale));
}

}  // namespace

void compute(const Sdpa& sdpa) {
    const char* wrong = getenv("ISOBAR_SIM_CUDNN_WRONG");
    std::string mistake = wrong == nullptr ? "" : wrong;
    for (int64_t b = 0; b < sdpa.tensors[Q].extents[0]; ++b) {
        for (int64_t h = 0; h < sdpa.tensors[Q].extents[1]; ++h) {
            if (sdpa.backward) {
                backward(sdpa, b, h, mistake == "gradient" ? 1.05 : 1);
            } else {
                forward(sdpa, b, h);
            }
        }
    }
    static int calls[2] = {};
    if ((mistake == "bits" || sdpa.unequal) && ++calls[sdpa.backward ? 1 : 0] % 2 == 0) {
        const Strided& result = sdpa.tensors[sdpa.backward ? DQ : O];
        result.data[0] = static_cast<char>(result.data[0] ^ 1);
    }
    if (mistake == "slow") {
        sim_spend(SLOW_MILLISECONDS);
    }
}

}  // namespace cudnn
