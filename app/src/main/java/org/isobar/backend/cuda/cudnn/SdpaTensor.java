package org.isobar.backend.cuda.cudnn;

import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_DATA_TYPE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_IS_BY_VALUE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_STRIDES;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_TENSOR_UNIQUE_ID;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_TENSOR_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_BFLOAT16;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_FLOAT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_DATA_HALF;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_DATA_TYPE;

import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;

/**
 * The tensors of attention as cuDNN sees them: four extents (B, H, tokens, D) with the strides that they have in
 * memory. Queries and outputs are (B, T, H, D) there; keys and values share a tensor (B, T, 2, H, D). Nothing is copied
 * or transposed.
 */
enum SdpaTensor {
    Q(Layout.OF_QUERIES), K(Layout.OF_KEYS), V(Layout.OF_KEYS), O(Layout.OF_QUERIES), STATISTICS(Layout.STATISTICS),
    SCALE(Layout.NUMBER), D_O(Layout.OF_QUERIES), D_Q(Layout.OF_QUERIES), D_K(Layout.OF_KEYS), D_V(Layout.OF_KEYS);

    private enum Layout { OF_QUERIES, OF_KEYS, STATISTICS, NUMBER }

    /** Bytes that the address of each tensor is a multiple of. */
    static final int ALIGNMENT = 16;

    private final Layout layout;

    SdpaTensor(Layout layout) {
        this.layout = layout;
    }

    /** The number that names this tensor in a variant pack. */
    long id() {
        return 1L + ordinal();
    }

    /** Extents (B, H, tokens, D). */
    long[] extents(AttentionShape shape) {
        return switch (layout) {
            case OF_QUERIES -> new long[] {shape.batch(), shape.heads(), shape.queries(), shape.headDim()};
            case OF_KEYS -> new long[] {shape.batch(), shape.heads(), shape.keys(), shape.headDim()};
            case STATISTICS -> new long[] {shape.batch(), shape.heads(), shape.queries(), 1};
            case NUMBER -> new long[] {1, 1, 1, 1};
        };
    }

    /** Strides of these extents, in elements. */
    long[] strides(AttentionShape shape) {
        long row = shape.heads() * shape.headDim();
        return switch (layout) {
            case OF_QUERIES -> new long[] {shape.queries() * row, shape.headDim(), row, 1};
            case OF_KEYS -> new long[] {shape.keys() * 2 * row, shape.headDim(), 2 * row, 1};
            case STATISTICS -> new long[] {shape.heads() * shape.queries(), shape.queries(), 1, 1};
            case NUMBER -> new long[] {1, 1, 1, 1};
        };
    }

    /** The address of this tensor in the tensor of keys and values that begins at {@code address}. */
    long within(long address, DType dtype, AttentionShape shape) {
        boolean values = this == V || this == D_V;
        return values ? address + shape.heads() * shape.headDim() * dtype.bytes() : address;
    }

    /** The descriptor. The scale is a number of the host, read when the operation is issued. */
    CudnnDescriptor describe(CudnnDescriptor.Owner owner, DType dtype, AttentionShape shape) {
        boolean number = layout == Layout.NUMBER;
        boolean single = number || layout == Layout.STATISTICS;
        CudnnDescriptor described = owner.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor " + this);
        described.value(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, single ? CUDNN_DATA_FLOAT : type(dtype))
            .integers(CUDNN_ATTR_TENSOR_DIMENSIONS, extents(shape))
            .integers(CUDNN_ATTR_TENSOR_STRIDES, strides(shape))
            .integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, id())
            .integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT);
        if (number) {
            described.flag(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
        }
        return described.complete();
    }

    private static int type(DType dtype) {
        return switch (dtype) {
            case F16 -> CUDNN_DATA_HALF;
            case BF16 -> CUDNN_DATA_BFLOAT16;
            default -> throw new IllegalArgumentException("cuDNN has no attention in " + dtype);
        };
    }
}
