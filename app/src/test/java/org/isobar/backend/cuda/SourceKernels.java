package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuModuleGetFunction;
import static org.bytedeco.cuda.global.cudart.cuModuleLoadData;
import static org.bytedeco.cuda.global.nvrtc.nvrtcCompileProgram;
import static org.bytedeco.cuda.global.nvrtc.nvrtcCreateProgram;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetCUBIN;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetCUBINSize;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetProgramLog;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetProgramLogSize;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.cuda.nvrtc._nvrtcProgram;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;

/** Kernels compiled from sources that a test may change, without a cache. */
final class SourceKernels implements Kernels {
    private static final List<String> HEADERS = List.of("ptx.cuh", "common.cuh", "philox.cuh", "elementwise.cuh",
        "columns.cuh", "rows.cuh");

    /** What stands in a file of the kernels. */
    @FunctionalInterface
    interface Source {
        /** The text of the given file. */
        String text(String file);
    }

    private final Source source;
    private final Map<KernelVariant, Kernel> compiled = new HashMap<>();

    SourceKernels(Source source) {
        this.source = source;
    }

    /** The production text of a file. */
    static String resource(String file) {
        try (InputStream in = Kernels.class.getResourceAsStream("kernels/" + file)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Kernel kernel(String file, String function, String... defines) {
        return compiled.computeIfAbsent(new KernelVariant(file, function, List.of(defines)), this::compile);
    }

    @Override
    public int multiprocessors() {
        return 2;
    }

    private Kernel compile(KernelVariant variant) {
        List<String> options = new ArrayList<>(List.of("--std=c++17", "--gpu-architecture=sm_90", "-default-device"));
        variant.defines().forEach(define -> options.add("-D" + define));
        _nvrtcProgram program = new _nvrtcProgram();
        check(nvrtcCreateProgram(program, new BytePointer(source.text(variant.file())),
            new BytePointer(variant.file()), HEADERS.size(), strings(HEADERS.stream().map(source::text).toList()),
            strings(HEADERS)), program);
        check(nvrtcCompileProgram(program, options.size(), strings(options)), program);
        SizeTPointer size = new SizeTPointer(1);
        check(nvrtcGetCUBINSize(program, size), program);
        BytePointer image = new BytePointer(size.get());
        check(nvrtcGetCUBIN(program, image), program);
        CUmod_st module = new CUmod_st();
        Cuda.check(cuModuleLoadData(module, image), "cuModuleLoadData");
        CUfunc_st function = new CUfunc_st();
        Cuda.check(cuModuleGetFunction(function, module, variant.function()), "cuModuleGetFunction");
        return new Kernel(variant.toString(), function);
    }

    private static PointerPointer<Pointer> strings(List<String> texts) {
        PointerPointer<Pointer> pointers = new PointerPointer<>(texts.size());
        for (int i = 0; i < texts.size(); i++) {
            pointers.put(i, new BytePointer(texts.get(i)));
        }
        return pointers;
    }

    private static void check(int result, _nvrtcProgram program) {
        if (result != 0) {
            SizeTPointer size = new SizeTPointer(1);
            nvrtcGetProgramLogSize(program, size);
            BytePointer log = new BytePointer(size.get() + 1);
            nvrtcGetProgramLog(program, log);
            throw new CudaException("NVRTC error " + result + ": " + log.getString());
        }
    }
}
