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
 * A shared library of the system, called through {@code java.lang.foreign}: for what must work where the bindings of
 * JavaCPP cannot even be unpacked, and for functions that they lack. A library stays loaded.
 */
public final class SystemLibrary {
    private static final int LONGEST_TEXT = 256;

    private final SymbolLookup symbols;

    private SystemLibrary(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /** The library that the loader finds under this name: "libcuda.so.1", say. */
    @SuppressWarnings("restricted") // native code can crash the process; here is where it is trusted
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

    /** Result of {@code int function(...)}, arguments as of {@link #call}; absent if there is no such function. */
    OptionalInt status(String function, Object... arguments) {
        Optional<Object> result = call(function, ValueLayout.JAVA_INT, arguments);
        return result.isEmpty() ? OptionalInt.empty() : OptionalInt.of((int) result.get());
    }

    /** Result of {@code size_t function(void)}; absent if the library has no such function. */
    OptionalLong size(String function) {
        Optional<Object> result = call(function, ValueLayout.JAVA_LONG);
        return result.isEmpty() ? OptionalLong.empty() : OptionalLong.of((long) result.get());
    }

    /**
     * The numbers that {@code int function(..., int* first, int* second...)} yields.
     *
     * @return absent if it fails or is not there
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

    /** The text that {@code int function(char* text, int capacity, ...)} yields; absent if it fails or is not there. */
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

    /** A function to be called often; absent if the library has none of this name. */
    @SuppressWarnings("restricted")
    Optional<MethodHandle> function(String name, FunctionDescriptor descriptor) {
        return symbols.find(name).map(address -> Linker.nativeLinker().downcallHandle(address, descriptor));
    }

    /** The file that has the function, links followed: its name often tells the exact version. */
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
