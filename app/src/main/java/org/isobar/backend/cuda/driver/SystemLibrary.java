package org.isobar.backend.cuda.driver;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A shared library of the system, called through {@code java.lang.foreign}. It is used where the JavaCPP bindings may
 * not load, and for functions that they lack. A library stays loaded.
 */
public final class SystemLibrary {
    private static final int LONGEST_TEXT = 256;

    private final SymbolLookup symbols;

    private SystemLibrary(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /** Opens the library that the dynamic loader finds under this name, such as "libcuda.so.1". */
    @SuppressWarnings("restricted") // native code can crash the process
    public static Optional<SystemLibrary> open(String name) {
        try {
            return Optional.of(new SystemLibrary(SymbolLookup.libraryLookup(name, Arena.global())));
        } catch (IllegalArgumentException absent) {
            return Optional.empty();
        }
    }

    /** The C library of this process. */
    static SystemLibrary ofC() {
        return new SystemLibrary(Linker.nativeLinker().defaultLookup());
    }

    /** Result of {@code int function(...)} with arguments as in {@link #call}; empty if the function is missing. */
    OptionalInt status(String function, Object... arguments) {
        Optional<Object> result = call(function, ValueLayout.JAVA_INT, arguments);
        return result.isEmpty() ? OptionalInt.empty() : OptionalInt.of((int) result.get());
    }

    /** Result of {@code size_t function(void)}; empty if the function is missing. */
    OptionalLong size(String function) {
        Optional<Object> result = call(function, ValueLayout.JAVA_LONG);
        return result.isEmpty() ? OptionalLong.empty() : OptionalLong.of((long) result.get());
    }

    /**
     * The output of {@code int function(..., int* first, int* second...)}.
     *
     * @return empty if the function fails or is missing
     */
    Optional<int[]> numbers(int count, String function, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment numbers = arena.allocate(ValueLayout.JAVA_INT, count);
            Stream<Object> places = IntStream.range(0, count)
                .mapToObj(i -> numbers.asSlice((long) i * Integer.BYTES, Integer.BYTES));
            int status = status(function, Stream.concat(Stream.of(arguments), places).toArray()).orElse(-1);
            return status == 0 ? Optional.of(numbers.toArray(ValueLayout.JAVA_INT)) : Optional.empty();
        }
    }

    /** The output of {@code int function(char* text, int capacity, ...)}; empty if it fails or is missing. */
    Optional<String> text(String function, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(LONGEST_TEXT);
            Object[] all = Stream.concat(Stream.of(text, LONGEST_TEXT), Stream.of(arguments)).toArray();
            return status(function, all).orElse(-1) == 0 ? Optional.of(text.getString(0)) : Optional.empty();
        }
    }

    /** Calls a function with arguments of the types Integer ({@code int}) and MemorySegment (a pointer). */
    private Optional<Object> call(String function, MemoryLayout result, Object... arguments) {
        MemoryLayout[] layouts = Stream.of(arguments)
            .map(argument -> argument instanceof Integer ? ValueLayout.JAVA_INT : ValueLayout.ADDRESS)
            .toArray(MemoryLayout[]::new);
        return function(function, FunctionDescriptor.of(result, layouts)).map(handle -> {
            try {
                return handle.invokeWithArguments(arguments);
            } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
                throw new AssertionError(thrown);
            }
        });
    }

    /** A handle for repeated calls; empty if the function is missing. */
    @SuppressWarnings("restricted")
    public Optional<MethodHandle> function(String name, FunctionDescriptor descriptor) {
        return symbols.find(name).map(address -> Linker.nativeLinker().downcallHandle(address, descriptor));
    }

    /** The file that defines a function, with links resolved. Its name often has the exact version. */
    @SuppressWarnings("restricted")
    public Optional<Path> file(String function) {
        SystemLibrary system = ofC();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment information = arena.allocate(ValueLayout.ADDRESS, 4); // Dl_info of dladdr(3)
            Optional<MemorySegment> address = symbols.find(function);
            if (address.isEmpty() || system.status("dladdr", address.get(), information).orElse(0) == 0) {
                return Optional.empty();
            }
            MemorySegment name = information.get(ValueLayout.ADDRESS, 0).reinterpret(Long.MAX_VALUE);
            return Optional.of(real(Path.of(name.getString(0))));
        }
    }

    private static Path real(Path file) {
        try {
            return file.toRealPath();
        } catch (IOException gone) {
            return file;
        }
    }
}
