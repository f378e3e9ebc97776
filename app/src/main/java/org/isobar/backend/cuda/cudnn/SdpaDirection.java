package org.isobar.backend.cuda.cudnn;

import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;

import java.util.List;

/** The two operations of attention (scaled dot-product attention, SDPA), with the tensors of each. */
enum SdpaDirection {
    FORWARD(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, List.of(
        new Operand(SdpaTensor.Q, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC),
        new Operand(SdpaTensor.K, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC),
        new Operand(SdpaTensor.V, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC),
        new Operand(SdpaTensor.O, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC),
        new Operand(SdpaTensor.STATISTICS, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC),
        new Operand(SdpaTensor.SCALE, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC))),
    BACKWARD(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, List.of(
        new Operand(SdpaTensor.Q, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC),
        new Operand(SdpaTensor.K, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC),
        new Operand(SdpaTensor.V, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC),
        new Operand(SdpaTensor.O, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC),
        new Operand(SdpaTensor.STATISTICS, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC),
        new Operand(SdpaTensor.SCALE, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC),
        new Operand(SdpaTensor.D_O, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC),
        new Operand(SdpaTensor.D_Q, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC),
        new Operand(SdpaTensor.D_K, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC),
        new Operand(SdpaTensor.D_V, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC)));

    /**
     * A tensor of an operation.
     *
     * @param attribute of the operation's descriptor
     */
    record Operand(SdpaTensor tensor, int attribute) { }

    private final int descriptor;
    private final List<Operand> operands;

    SdpaDirection(int descriptor, List<Operand> operands) {
        this.descriptor = descriptor;
        this.operands = operands;
    }

    /** The operation's {@code cudnnBackendDescriptorType_t}. */
    int descriptor() {
        return descriptor;
    }

    /** Its tensors, in the order of the variant pack. */
    List<Operand> operands() {
        return operands;
    }
}
