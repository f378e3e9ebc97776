package org.isobar.data.convert;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.List;
import java.util.SortedMap;

import org.isobar.data.convert.GriddedArray.Role;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;

/** Reads slabs, unpacks and orders their values, and writes them to a year file. Has the memory of one thread. */
final class SlabConverter implements AutoCloseable {
    private static final int NOT_FINITE = 0x7F80_0000; // bits of an infinity; a NaN has larger ones

    private final List<ChannelSource> channels;
    private final NanFill fill;
    private final FileChannel file;
    private final long dataAddress;
    private float[] cellRows = new float[0]; // (rows of a cell, columns)
    private Arena memory = Arena.ofConfined(); // of elements
    private MemorySegment elements = MemorySegment.NULL;
    private double[] wide = new double[0];
    private float[] sourceRow = new float[0];
    private float[] other = new float[0]; // a row of preliminary data
    private float[] field = new float[0]; // (rows of the slab, columns of the output)
    private ByteBuffer bytes = ByteBuffer.allocate(0);

    SlabConverter(List<ChannelSource> channels, NanFill fill, FileChannel file, long dataAddress) {
        this.channels = channels;
        this.fill = fill;
        this.file = file;
        this.dataAddress = dataAddress;
    }

    /** A read of a slab: its elements, and how they are arranged. */
    private record Block(Slab slab, MemorySegment elements, int[] start, int[] count, int[] strides, int time) {
        long at(int level, int row) {
            return offset(Role.TIME, time) + offset(Role.LEVEL, level) + offset(Role.LATITUDE, row);
        }

        private long offset(Role role, int index) {
            int dim = slab.array().dim(role);
            return dim == GriddedArray.ABSENT ? 0 : (long) (index - start[dim]) * strides[dim];
        }

        int stride(Role role) {
            int dim = slab.array().dim(role);
            return dim == GriddedArray.ABSENT ? 0 : strides[dim];
        }
    }

    /**
     * Converts a slab.
     *
     * @return bytes that were written
     * @throws UserException if it cannot be read, or has a value that is not finite and is not replaced
     * @throws IOException   if it cannot be written
     */
    long convert(Slab slab) throws IOException {
        long written = 0;
        StoredArray array = slab.array().stored();
        for (SortedMap<Integer, List<Integer>> read : slab.reads()) {
            int[] start = slab.start(read);
            int[] count = slab.count(read);
            MemorySegment segment = elements(StoredArray.elements(count) * array.type().bytes());
            array.read(start, count, segment);
            int[] strides = new int[count.length];
            for (int d = count.length - 1, stride = 1; d >= 0; stride *= count[d--]) {
                strides[d] = stride;
            }
            for (int time : read.keySet()) {
                Block block = new Block(slab, segment, start, count, strides, time);
                for (int level : slab.levels().keySet()) {
                    int channel = slab.levels().get(level);
                    convert(block, level, channel);
                    for (int frame : read.get(time)) {
                        written += write(slab, frame, channel);
                    }
                }
            }
        }
        return written;
    }

    /** Memory for the elements of a read. */
    private MemorySegment elements(long size) {
        if (elements.byteSize() < size) {
            memory.close();
            memory = Arena.ofConfined();
            elements = memory.allocate(size, Long.BYTES);
        }
        return elements.asSlice(0, size);
    }

    /** Converts the field of a time and a level. */
    private void convert(Block block, int level, int channel) {
        Slab slab = block.slab;
        TargetGrid grid = slab.grid();
        int columns = grid.columns().length;
        String name = channels.get(channel).name();
        boolean fills = fill.fills(name);
        cellRows = cellRows.length < grid.cell() * columns ? new float[grid.cell() * columns] : cellRows;
        field = field.length < slab.rows() * grid.width() ? new float[slab.rows() * grid.width()] : field;
        for (int row = 0; row < slab.rows(); row++) {
            for (int j = 0; j < grid.cell(); j++) {
                int source = grid.rows()[(slab.firstRow() + row) * grid.cell() + j];
                readRow(block, level, source, cellRows, j * columns);
                check(block, level, source, cellRows, j * columns, fills);
            }
            if (grid.cell() == 1) {
                System.arraycopy(cellRows, 0, field, row * grid.width(), grid.width());
            } else {
                grid.average(cellRows, slab.firstRow() + row, fills, field, row * grid.width());
            }
        }
        if (fills) {
            replace(block, name, slab.rows() * grid.width());
        }
    }

    /** Reads a row in the order of the output's columns. Missing final data are replaced by preliminary data. */
    private void readRow(Block block, int level, int row, float[] target, int at) {
        GriddedArray array = block.slab.array();
        int lon = array.dim(Role.LONGITUDE);
        int width = block.count[lon];
        if (sourceRow.length < width) {
            sourceRow = new float[width];
            other = new float[width];
            wide = new double[width];
        }
        int stride = block.stride(Role.LONGITUDE);
        long from = block.at(level, row);
        array.packing().unpack(block.elements, from, stride, width, wide, sourceRow, 0);
        int versions = array.dim(Role.VERSION) == GriddedArray.ABSENT ? 1
            : array.stored().shape()[array.dim(Role.VERSION)];
        for (int version = 1; version < versions; version++) {
            array.packing().unpack(block.elements, from + (long) version * block.stride(Role.VERSION), stride, width,
                wide, other, 0);
            for (int i = 0; i < width; i++) {
                sourceRow[i] = Float.isNaN(sourceRow[i]) ? other[i] : sourceRow[i];
            }
        }
        block.slab.grid().order(sourceRow, block.start[lon], target, at);
    }

    /** Refuses values that are not finite, except a NaN that is replaced. */
    private void check(Block block, int level, int row, float[] values, int at, boolean mayBeNaN) {
        int[] columns = block.slab.grid().columns();
        boolean finite = CfPacking.largestBits(values, at, columns.length) < NOT_FINITE;
        for (int i = at; !finite && i < at + columns.length; i++) {
            if (Float.isInfinite(values[i]) || Float.isNaN(values[i]) && !mayBeNaN) {
                GriddedArray array = block.slab.array();
                double[] levels = array.levels();
                throw new UserException(array.subject() + " has " + (Float.isNaN(values[i]) ? "no value"
                    : "an infinite value") + " at " + (array.times().length == 0 ? "" : CfTime.text(array.times()[
                        block.time]) + ", ") + (levels.length == 0 ? "" : GriddedArray.plain(levels[level]) + " hPa, ")
                    + "latitude " + array.latitudes()[row] + ", longitude " + array.longitudes()[columns[i - at]]
                    + ". " + (Float.isNaN(values[i]) ? "Replace missing values with --fill_nan, or leave out the "
                        + "variable." : "Download or make the file again."));
            }
        }
    }

    private void replace(Block block, String name, int count) {
        float value;
        if (fill.fillsMean(name)) {
            double sum = 0;
            int finite = 0;
            for (int i = 0; i < count; i++) {
                if (!Float.isNaN(field[i])) {
                    sum += field[i];
                    finite++;
                }
            }
            if (finite == 0) {
                long[] times = block.slab.array().times();
                throw new UserException(block.slab.array().subject() + " has no value at all"
                    + (times.length == 0 ? "" : " at " + CfTime.text(times[block.time])) + ", so there is no mean to "
                    + "replace missing ones with. Give a number with --fill_nan.");
            }
            value = (float) (sum / finite);
        } else {
            value = fill.number(name);
        }
        for (int i = 0; i < count; i++) {
            field[i] = Float.isNaN(field[i]) ? value : field[i];
        }
    }

    private int write(Slab slab, int frame, int channel) throws IOException {
        TargetGrid grid = slab.grid();
        int count = slab.rows() * grid.width();
        if (bytes.capacity() < count * Float.BYTES) {
            bytes = ByteBuffer.allocateDirect(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        }
        bytes.clear().limit(count * Float.BYTES);
        bytes.asFloatBuffer().put(field, 0, count);
        long position = dataAddress + ((((long) frame * channels.size() + channel) * grid.height() + slab.firstRow())
            * grid.width()) * Float.BYTES;
        synchronized (file) { // the kernel lets one thread write at a time, and others would use up a core meanwhile
            while (bytes.hasRemaining()) {
                position += file.write(bytes, position);
            }
        }
        return count * Float.BYTES;
    }

    /** Releases the memory. */
    @Override
    public void close() {
        memory.close();
    }
}
