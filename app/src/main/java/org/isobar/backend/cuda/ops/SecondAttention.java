package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.backend.cuda.cudnn.CudnnAttention;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.SystemLibrary;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.device.AttentionEngine;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;

/** cuDNN as the second engine of a GPU's attention. The library is opened when it is first asked for. */
public final class SecondAttention implements AttentionEngine, AutoCloseable {
    private static final List<DType> HALVES = List.of(DType.F16, DType.BF16);

    private final GpuResources stack;
    private final Map<String, String> environment;
    private Optional<CudnnAttention> cudnn = Optional.empty();
    private Optional<String> obstacle = Optional.empty();
    private boolean enabled;

    /** @param environment may name cuDNN's directory */
    public SecondAttention(GpuResources stack, Map<String, String> environment) {
        this.stack = stack;
        this.environment = environment;
    }

    private Optional<CudnnAttention> open() {
        if (cudnn.isEmpty() && obstacle.isEmpty()) {
            Optional<SystemLibrary> library = CudaLibraries.cudnn(environment);
            try {
                cudnn = library.map(found -> CudnnAttention.open(found, stack.compute(),
                    stack.context().options().gradient() == QueryGradient.DETERMINISTIC,
                    stack.workspace()::address));
                obstacle = cudnn.isPresent() ? obstacle : Optional.of(CudaComponent.CUDNN.fileName()
                    + " is missing; " + CudaComponent.CUDNN.remedy());
            } catch (CudaException failure) {
                obstacle = Optional.of(failure.getMessage());
            }
        }
        return cudnn;
    }

    @Override
    public boolean isInstalled() {
        return open().isPresent();
    }

    @Override
    public String name() {
        return "cuDNN" + open().map(library -> " " + library.version()).orElse("")
            + (HALVES.stream().anyMatch(half -> backwardRefusal(half).isPresent()) ? " (forward)" : "");
    }

    @Override
    public Optional<String> backwardRefusal(DType compute) {
        return cudnn.flatMap(library -> library.backwardRefusal(compute));
    }

    @Override
    public String machine() {
        return stack.gpu() + ", " + stack.context().options();
    }

    @Override
    public Optional<String> prepare(Set<AttentionShape> shapes, DType compute) {
        if (open().isEmpty()) {
            return obstacle;
        }
        Optional<String> refusal = Optional.empty();
        for (AttentionShape shape : shapes) {
            Optional<String> why = cudnn.get().prepare(shape, compute);
            refusal = refusal.or(() -> why);
        }
        return refusal;
    }

    @Override
    public boolean isEnabled() {
        return enabled;
    }

    @Override
    public void enable(boolean enable) {
        enabled = enable;
    }

    /** cuDNN, if it is enabled and has plans for this shape and type. */
    Optional<CudnnAttention> enabled(AttentionShape shape, DType dtype) {
        return enabled ? cudnn.filter(library -> library.isPrepared(shape, dtype)) : Optional.empty();
    }

    /** Bytes of workspace that the prepared plans need. */
    public long workspaceBytes() {
        return cudnn.map(CudnnAttention::workspaceBytes).orElse(0L);
    }

    @Override
    public void close() {
        cudnn.ifPresent(CudnnAttention::close);
        cudnn = Optional.empty();
    }
}
