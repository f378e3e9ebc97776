package org.isobar.plan.machine;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

import org.isobar.tensor.DType;

/**
 * What is known of a machine.
 *
 * @param name        name of its file
 * @param description what it is
 * @param device      what the description of its devices contains, to recognize it
 * @param kind        what computes
 * @param numbers     its numbers by key, those of {@link MachineKeys}
 * @param attention   speed of attention by size of heads; empty where the measured operations tell it
 * @param profiles    milliseconds of the tutorial's program by precision and class of kernels
 * @param collectives measured collectives
 * @param operations  measured operations of Isobar, of one process that computes alone with all cores
 * @param shared      the same of one of several processes that compute at once, each with its share of the cores, by
 *                    the number of processes
 */
public record Machine(String name, String description, String device, Kind kind, Map<String, Quantity> numbers,
    List<AttentionRate> attention, Map<String, Map<String, Quantity>> profiles, Optional<CollectiveTable> collectives,
    List<MeasuredOperation> operations, NavigableMap<Integer, List<MeasuredOperation>> shared) {

    /** What computes. */
    public enum Kind {
        /** Each rank has cores of its own, or shares them with the other ranks of its node. */
        CPU,
        /** Each rank has a GPU. */
        GPU
    }

    /** Copies what is given. */
    public Machine {
        numbers = Map.copyOf(numbers);
        attention = List.copyOf(attention);
        profiles = Map.copyOf(profiles);
        operations = List.copyOf(operations);
        shared = Collections.unmodifiableNavigableMap(new TreeMap<>(shared));
    }

    /** The value of a number; each of {@link MachineKeys} is there. */
    public double value(String key) {
        return numbers.get(key).value();
    }

    /** Whether each rank has a GPU. */
    public boolean isGpu() {
        return kind == Kind.GPU;
    }

    /**
     * Whether products are computed in this type. A calibrated CPU has measured operations of each such type; with any
     * other it trains in single precision.
     */
    public boolean computes(DType type) {
        return isGpu() || operations.isEmpty()
            || operations.stream().anyMatch(row -> row.type().equals(type.name()));
    }

    /** The least sure source of all numbers. */
    public Quantity.Source leastSure() {
        return numbers.values().stream().map(Quantity::source).max(Enum::compareTo)
            .orElse(Quantity.Source.GUESSED);
    }

    /** This machine with other operations of processes that compute at once. */
    public Machine with(NavigableMap<Integer, List<MeasuredOperation>> other) {
        return new Machine(name, description, device, kind, numbers, attention, profiles, collectives, operations,
            other);
    }

    /** This machine with other measured collectives. */
    public Machine with(CollectiveTable other) {
        return new Machine(name, description, device, kind, numbers, attention, profiles, Optional.of(other),
            operations, shared);
    }
}
