package org.isobar.data.convert;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.data.source.ArrayStore;
import org.isobar.data.source.ChannelStore;
import org.isobar.data.source.Hdf5Store;
import org.isobar.data.source.NetCdf3Store;
import org.isobar.data.zarr.ZarrStore;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/** Opens weather data, and tells their formats apart by their first bytes. */
final class SourceOpener {
    private static final int DEEPEST = 4;
    private static final int MOST_BLOCKS = 12; // places where an HDF5 file may begin: 0, 512, 1024, 2048, ...
    private static final byte[] HDF5 = {(byte) 0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    /** Files beside data that are passed over in a directory. */
    private static final String PASSED = "(?i)readme.*|license.*|.*\\.(txt|md|json|npy|csv|yaml|yml|log|py|sh|ipynb"
        + "|html|pdf|png|tmp|part)";

    private SourceOpener() { }

    /**
     * Opens sources.
     *
     * @param sources files, directories of files, and stores
     * @param output  a directory that is passed over where it is inside another one
     * @return the open stores, at least one; the caller closes them
     * @throws UserException if one is remote, cannot be read, or has a format that cannot be converted
     */
    static List<ArrayStore> open(List<String> sources, Path output) {
        List<ArrayStore> stores = new ArrayList<>();
        try {
            for (String source : sources) {
                refuseRemote(source);
                int before = stores.size();
                open(Path.of(source), output.toAbsolutePath().normalize(), 0, stores);
                if (stores.size() == before) {
                    throw new UserException("Directory " + source + " has no weather data. Name a file or a directory "
                        + "of NetCDF or HDF5 files, or a Zarr store, with --from.");
                }
            }
            return stores;
        } catch (RuntimeException failure) {
            stores.forEach(ArrayStore::close);
            throw failure;
        }
    }

    private static void refuseRemote(String source) {
        String lower = source.toLowerCase(Locale.ROOT);
        String copy = lower.startsWith("s3://") ? "aws s3 sync --no-sign-request " + source + " DIR"
            : lower.startsWith("gs://") || lower.startsWith("gcs://") ? "gsutil -m rsync -r " + source + " DIR"
            : lower.matches("[a-z][a-z0-9+.-]*://.*") ? "wget -r -np " + source : "";
        if (!copy.isEmpty()) {
            throw new UserException(source + " is not on this machine, and only local files are read. Copy what is "
                + "needed of it, with `" + copy + "` for example, and name the copy with --from.");
        }
    }

    private static void open(Path path, Path output, int depth, List<ArrayStore> stores) {
        if (!Files.isDirectory(path)) {
            stores.add(openFile(path));
            return;
        }
        if (ZarrStore.isStore(path)) {
            stores.add(ZarrStore.open(path));
            return;
        }
        try (Stream<Path> entries = Files.list(path)) {
            for (Path entry : entries.sorted().toList()) {
                String name = entry.getFileName().toString();
                boolean directory = Files.isDirectory(entry);
                boolean passed = name.startsWith(".") || entry.toAbsolutePath().normalize().equals(output);
                if (!passed && (directory ? depth < DEEPEST : !name.matches(PASSED))) {
                    open(entry, output, depth + 1, stores);
                }
            }
        } catch (IOException failure) {
            throw FileFault.unreadable("directory " + path, failure);
        }
    }

    private static ArrayStore openFile(Path path) {
        byte[] first;
        try {
            RegularFile.size(path);
            if (isHdf5(path)) {
                return openHdf5(path);
            }
            try (InputStream stream = Files.newInputStream(path)) {
                first = stream.readNBytes(HDF5.length);
            }
        } catch (IOException failure) {
            throw FileFault.unreadable("data file " + path, failure);
        }
        String magic = new String(first, StandardCharsets.ISO_8859_1);
        if (magic.matches("(?s)CDF[\1\2\5].*")) {
            return NetCdf3Store.open(path);
        }
        throw new UserException("Data file " + path + foreign(magic));
    }

    private static ArrayStore openHdf5(Path path) {
        Hdf5Store file = Hdf5Store.open(path);
        try {
            Optional<ChannelStore> channels = ChannelStore.of(file);
            return channels.isPresent() ? channels.get() : file;
        } catch (UserException incomplete) {
            file.close();
            throw incomplete;
        }
    }

    private static String foreign(String magic) {
        if (magic.startsWith("GRIB")) {
            return " is GRIB, which is not read. Make NetCDF of it with `cdo -f nc4 copy IN.grib OUT.nc` or "
                + "`grib_to_netcdf -k 4 -o OUT.nc IN.grib`.";
        }
        if (magic.startsWith("PK\3\4")) {
            return " is a ZIP archive, as the Copernicus store delivers several files. Unpack it with unzip, and name "
                + "the directory.";
        }
        if (magic.startsWith("\37\213") || magic.startsWith("BZh") || magic.startsWith("\375" + "7zXZ")
            || magic.startsWith("(\265/\375")) {
            return " is compressed as a whole. Decompress it first.";
        }
        return magic.isEmpty() ? " is empty. Download it again."
            : " is neither NetCDF nor HDF5. Convert it to NetCDF, or move it out of the directory.";
    }

    /** Whether a file has the signature of HDF5 at one of the places where it may be. */
    private static boolean isHdf5(Path path) throws IOException {
        try (FileChannel channel = RegularFile.open(path)) {
            ByteBuffer signature = ByteBuffer.allocate(HDF5.length);
            long place = 0;
            for (int block = 0; block < MOST_BLOCKS && place < channel.size(); block++) {
                signature.clear();
                if (channel.read(signature, place) == HDF5.length && Arrays.equals(signature.array(), HDF5)) {
                    return true;
                }
                place = place == 0 ? 512 : 2 * place;
            }
            return false;
        }
    }
}
