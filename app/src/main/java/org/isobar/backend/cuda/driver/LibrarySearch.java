package org.isobar.backend.cuda.driver;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.LibraryInfo.State;

/**
 * Finds the CUDA libraries of this machine: cuDNN first in CUDNN_PATH; then all as the dynamic loader does
 * (LD_LIBRARY_PATH and its cache); then in the toolkits named by CUDA_HOME and CUDA_PATH, then in those under
 * /usr/local.
 */
final class LibrarySearch {
    private static final List<String> HOMES = List.of("CUDA_HOME", "CUDA_PATH");
    private static final String CUDNN_VARIABLE = "CUDNN_PATH";
    private static final Path INSTALLED = Path.of("/usr/local");
    private static final List<String> OTHER_MAJORS = List.of("14", "12", "11", "");

    private LibrarySearch() { }

    /** Opens the library of this file name, such as "libcudart.so.13". It stays loaded. */
    static Optional<SystemLibrary> find(String fileName) {
        return SystemLibrary.open(fileName).or(() -> toolkits().map(directory -> directory.resolve(fileName))
            .filter(Files::isReadable).map(file -> SystemLibrary.open(file.toString())).flatMap(Optional::stream)
            .findFirst());
    }

    /** Opens cuDNN, as {@link #find} does, but first in the directory that the environment names. */
    static Optional<SystemLibrary> findCudnn(Map<String, String> environment) {
        String name = CudaComponent.CUDNN.fileName();
        return Stream.ofNullable(environment.get(CUDNN_VARIABLE)).filter(home -> !home.isBlank())
            .flatMap(home -> Stream.of("lib", "lib64").map(folder -> Path.of(home, folder, name)))
            .filter(Files::isReadable).map(file -> SystemLibrary.open(file.toString())).flatMap(Optional::stream)
            .findFirst().or(() -> find(name));
    }

    /** Looks for a library in the needed version, then in other versions. */
    static LibraryInfo inspect(CudaComponent component) {
        return inspect(component, System.getenv());
    }

    /** Likewise, with the environment that names cuDNN's directory. */
    static LibraryInfo inspect(CudaComponent component, Map<String, String> environment) {
        Optional<SystemLibrary> library = component == CudaComponent.CUDNN ? findCudnn(environment)
            : find(component.fileName());
        if (library.isPresent()) {
            return info(component, component.isTooOld(library.get()) ? State.WRONG : State.FOUND, library.get());
        }
        for (String major : OTHER_MAJORS) {
            String name = major.isEmpty() ? component.stem() : component.stem() + "." + major;
            Optional<SystemLibrary> other = find(name);
            if (other.isPresent()) {
                return info(component, State.WRONG, other.get());
            }
        }
        return new LibraryInfo(component, State.MISSING, Optional.empty(), Optional.empty());
    }

    private static LibraryInfo info(CudaComponent component, State state, SystemLibrary library) {
        return new LibraryInfo(component, state, library.file(component.function()), component.version(library));
    }

    /** Library directories of the installed toolkits: those that the environment names, then the newest first. */
    private static Stream<Path> toolkits() {
        List<Path> homes = new ArrayList<>();
        HOMES.stream().map(System::getenv).filter(home -> home != null && !home.isBlank())
            .forEach(home -> homes.add(Path.of(home)));
        try (DirectoryStream<Path> installed = Files.newDirectoryStream(INSTALLED, "cuda*")) {
            List<Path> found = new ArrayList<>();
            installed.forEach(found::add);
            found.sort(Comparator.comparing(Path::toString).reversed());
            homes.addAll(found);
        } catch (IOException unreadable) { // only the toolkits of the environment
        }
        return homes.stream().map(home -> home.resolve("lib64"));
    }
}
