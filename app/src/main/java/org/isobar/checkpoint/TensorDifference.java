package org.isobar.checkpoint;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * Differences between the tensors of two files or checkpoints, whatever slices they are stored in. Names are in
 * ascending order.
 *
 * @param compared   number of tensors with the same name and shape on both sides
 * @param changed    the compared tensors whose bits differ
 * @param misshaped  tensors with the same name and different shapes
 * @param onlyFirst  names that only the first side has
 * @param onlySecond names that only the second side has
 */
public record TensorDifference(int compared, List<Change> changed, List<Misshaped> misshaped, List<String> onlyFirst,
        List<String> onlySecond) {

    /**
     * Difference of two tensors a and b. {@code largest} and {@code relativeL2} are NaN if a NaN is compared with
     * another value.
     *
     * @param elements   number of elements of each
     * @param differing  number of elements whose bits differ, including zeros of different sign
     * @param largest    max |a - b|
     * @param relativeL2 ||a - b|| / ||a||, in double precision
     */
    public record Change(String name, Shape shape, long elements, long differing, double largest, double relativeL2) { }

    /** Two tensors of the same name that cannot be compared because their shapes differ. */
    public record Misshaped(String name, Shape first, Shape second) { }

    /**
     * Compares tensor by tensor; memory holds two tensors at a time.
     *
     * @param which selects the tensors to compare by name
     */
    public static TensorDifference of(StoredTensors first, StoredTensors second, Predicate<String> which) {
        Set<String> firstNames = names(first, which);
        Set<String> secondNames = names(second, which);
        List<Change> changed = new ArrayList<>();
        List<Misshaped> misshaped = new ArrayList<>();
        int compared = 0;
        for (String name : firstNames) {
            if (!secondNames.contains(name)) {
                continue;
            }
            if (first.shape(name).equals(second.shape(name))) {
                compared++;
                Change change = compare(name, first, second);
                if (change.differing > 0) {
                    changed.add(change);
                }
            } else {
                misshaped.add(new Misshaped(name, first.shape(name), second.shape(name)));
            }
        }
        return new TensorDifference(compared, changed, misshaped, without(firstNames, secondNames),
            without(secondNames, firstNames));
    }

    /** Whether both sides have the same tensors with the same bits. */
    public boolean isNone() {
        return changed.isEmpty() && misshaped.isEmpty() && onlyFirst.isEmpty() && onlySecond.isEmpty();
    }

    private static Set<String> names(StoredTensors tensors, Predicate<String> which) {
        return new TreeSet<>(tensors.names().stream().filter(which).toList());
    }

    private static List<String> without(Set<String> names, Set<String> others) {
        return names.stream().filter(name -> !others.contains(name)).toList();
    }

    private static Change compare(String name, StoredTensors first, StoredTensors second) {
        Shape shape = first.shape(name);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = arena.allocate(shape.elements() * DType.F32.bytes(), DType.F32.bytes());
            MemorySegment b = arena.allocate(shape.elements() * DType.F32.bytes(), DType.F32.bytes());
            first.read(name, a);
            second.read(name, b);
            return a.mismatch(b) < 0 ? new Change(name, shape, shape.elements(), 0, 0, 0) : compare(name, shape, a, b);
        }
    }

    private static Change compare(String name, Shape shape, MemorySegment a, MemorySegment b) {
        long differing = 0;
        double largest = 0;
        double squares = 0;
        double norm = 0;
        for (long i = 0; i < shape.elements(); i++) {
            float x = a.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            float y = b.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            norm += (double) x * x;
            if (Float.floatToRawIntBits(x) != Float.floatToRawIntBits(y)) {
                double difference = Math.abs((double) x - y);
                differing++;
                largest = Math.max(largest, difference);
                squares += difference * difference;
            }
        }
        return new Change(name, shape, shape.elements(), differing, largest,
            squares == 0 ? 0 : Math.sqrt(squares / norm)); // would be 0 / 0 for zeros that differ in sign only
    }
}
