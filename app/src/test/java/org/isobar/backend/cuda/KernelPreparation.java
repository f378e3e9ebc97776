package org.isobar.backend.cuda;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Compiles kernels for the first GPU into the cache, on all processors at once, ahead of a test that comes to need most
 * of them: one after the other, they would take it longer than all that it does with them.
 */
final class KernelPreparation {
    private KernelPreparation() { }

    /** The kernels of these files, in every variant that a preset can need. */
    static void compile(Predicate<String> files) throws Exception {
        try (CudaStack stack = CudaFixture.stack(System.getenv(), new ArrayList<>());
            ExecutorService pool = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors())) {
            KernelCompiler compiler = new KernelCompiler();
            KernelCache cache = new KernelCache(KernelCache.directory(System.getenv()), warning -> { });
            Stream<KernelUnit> units = KernelUnit.all().keySet().stream().filter(unit -> files.test(unit.file()));
            for (Future<Void> done : pool.invokeAll(units.map(unit ->
                    compilation(unit, stack.gpu().capability(), compiler, cache)).toList())) {
                done.get();
            }
        }
    }

    /** As the {@link KernelLibrary} has it done. */
    private static Callable<Void> compilation(KernelUnit unit, int capability, KernelCompiler compiler,
        KernelCache cache) {
        return () -> {
            KernelSource source = KernelSource.load(unit.file());
            List<String> options = KernelCompiler.options(capability, unit.defines());
            String key = KernelCache.key(source, options);
            String identity = compiler.identity();
            if (cache.read(key, Optional.of(identity)).isEmpty()) {
                cache.write(key, identity, compiler.compile(source, options).image());
            }
            return null;
        };
    }
}
