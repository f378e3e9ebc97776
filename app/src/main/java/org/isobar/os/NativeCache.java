package org.isobar.os;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.fault.UserException;

/**
 * Chooses the directory into which JavaCPP and aircompressor unpack native libraries. By default JavaCPP takes a
 * directory of a predictable name below that of temporary files if the home cannot be written, and loads what it finds
 * there if size and time agree, so that another user could prepare libraries. Aircompressor unpacks its libraries anew
 * in each process, and deletes them when the JVM exits.
 */
public final class NativeCache {
    /** JavaCPP reads this property once, when it first unpacks a library. */
    private static final String PROPERTY = "org.bytedeco.javacpp.cachedir";
    private static final String AIRCOMPRESSOR = "aircompressor.tmpdir";

    private NativeCache() { }

    /**
     * Sets the directory for this process. It is called before every load of a library; calls after the first one only
     * check the directory again. If the property is set already, it names the directory. Otherwise it is
     * {@code native} in the {@link CacheDirectory} or, if there is none, a new temporary directory that is deleted when
     * the JVM exits.
     *
     * @return the directory, which only this user can write
     * @throws UserException if others can change the directory, or none can be written
     */
    public static synchronized Path prepare(Map<String, String> environment) {
        String set = System.getProperty(PROPERTY, "");
        Path directory = set.isBlank()
            ? CacheDirectory.open(environment, "native").orElseGet(NativeCache::temporary)
            : open(Path.of(set), "-D" + PROPERTY);
        System.setProperty(PROPERTY, directory.toString());
        System.setProperty(AIRCOMPRESSOR, directory.toString());
        return directory;
    }

    /** What a user can do if a library cannot be loaded from the directory, for messages. */
    public static String advice(Path directory) {
        return "Libraries are unpacked in " + directory + ", which must have room and not be mounted noexec; "
            + CacheDirectory.VARIABLE + " names another directory";
    }

    private static Path temporary() {
        return open(new TemporaryDirectory("isobar-native").directory(), CacheDirectory.VARIABLE);
    }

    private static Path open(Path directory, String remedy) {
        try {
            return PrivateDirectory.open(directory, remedy);
        } catch (IOException failure) {
            throw FileFault.unwritable("cache of native libraries " + directory, remedy, failure);
        }
    }
}
