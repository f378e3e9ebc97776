package org.isobar.data.source;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * A NetCDF file in one of the classic formats: CDF-1 (classic), CDF-2 (64-bit offset) and CDF-5 (64-bit data).
 * Reference: "The NetCDF Classic Format Specification", appendix B of the NetCDF User's Guide. Numbers are big-endian.
 * The values of an array are contiguous, except that those along the record dimension are interleaved with the values
 * of the other arrays that have this dimension.
 */
public final class NetCdf3Store extends SingleFileStore {
    private NetCdf3Store(StoreFile file) throws IOException {
        super(file);
        NetCdf3Header.read(file.title(), file.channel()).variables()
            .forEach(variable -> arrays.add(new Array(file, variable)));
    }

    /**
     * Opens a file and reads its header.
     *
     * @throws UserException if it cannot be read, is no such file, or is shorter than its header says
     */
    public static NetCdf3Store open(Path path) {
        StoreFile file = StoreFile.open("NetCDF file " + path, path);
        try {
            return new NetCdf3Store(file);
        } catch (IOException failure) {
            file.close();
            throw FileFault.unreadable(file.title(), failure);
        } catch (UserException refused) {
            file.close();
            throw refused;
        }
    }

    /** A variable of a file. */
    private record Array(StoreFile file, NetCdf3Header.Variable variable) implements StoredArray {
        @Override
        public String name() {
            return variable.name();
        }

        @Override
        public List<String> dims() {
            return variable.dims();
        }

        @Override
        public int[] shape() {
            return variable.shape();
        }

        @Override
        public NumberType type() {
            return variable.type();
        }

        @Override
        public ArrayAttributes attributes() {
            return variable.attributes();
        }

        @Override
        public int[] chunk() {
            int[] ones = new int[variable.shape().length];
            Arrays.fill(ones, 1);
            return ones;
        }

        @Override
        public void read(int[] start, int[] count, MemorySegment target) {
            file.readBlock(new StoreFile.Placement(name(), shape(), type().bytes(), variable.hasRecords(),
                variable::address), start, count, target);
            type().toNative(target, StoredArray.elements(count), ByteOrder.BIG_ENDIAN);
        }
    }
}
