package org.isobar.backend.cuda;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.tensor.Tensor;

/** Opens the first GPU, real or simulated, and moves numbers. */
final class CudaFixture {
    private CudaFixture() { }

    static CudaOptions options() {
        return new CudaOptions(CudaOptions.Fusion.FUSED, CudaOptions.SinglePrecision.TF32,
            CudaOptions.QueryGradient.DETERMINISTIC);
    }

    static CudaDevice device() {
        List<String> log = new ArrayList<>();
        return new CudaDevice(0, options(), System.getenv(), log::add);
    }

    static CudaStack stack(Map<String, String> environment, List<String> warnings) {
        return new CudaStack(0, options(), environment, warnings::add);
    }

    static float[] values(Device device, Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }
}
