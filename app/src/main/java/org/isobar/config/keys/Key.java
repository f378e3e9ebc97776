package org.isobar.config.keys;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.telemetry.PythonFormat;

/**
 * The declaration of one configuration key. Everything that knows the key follows from it: how the loader reads it, its
 * command-line option and help, its line in the log's configuration block, the warning where it has no effect, and
 * whether a resumed run must have the same value.
 *
 * <pre>{@code
 * Key.freeOnResume("keep", count(0), "Keep the K newest checkpoints.").defaultsTo(2).asOption("K")
 * }</pre>
 *
 * @param name its name in a preset; its option is {@code --NAME}
 * @param type the values that it takes
 * @param help what it does, in full sentences
 * @param fixed whether a run that resumes from a checkpoint must have the value of the run that saved it, because
 *     another value changes the result
 * @param absent its value where it is not given; empty if it must be given
 * @param option its command-line option; empty if only presets and {@code --set} give it
 * @param noEffects where it has no effect
 */
public record Key<T>(String name, ValueType<T> type, String help, boolean fixed, Optional<T> absent,
    Optional<KeyOption> option, List<NoEffect> noEffects) {

    /**
     * How a key is given on the command line.
     *
     * @param label the value's placeholder in the help, such as {@code N}
     * @param aliases further names of the option, without dashes
     */
    public record KeyOption(String label, List<String> aliases) { }

    /** A key that must be given, has no option, and whose value a resumed run must keep. */
    static <T> Key<T> fixedOnResume(String name, ValueType<T> type, String help) {
        return new Key<>(name, type, help, true, Optional.empty(), Optional.empty(), List.of());
    }

    /**
     * A key that must be given, has no option, and may change when a run resumes. Such keys decide what computes, how
     * fast, and where the run writes, but not the result. The data's keys are free because a resumed run compares the
     * data, the local batch size because it compares the global one, and initial weights because they are used only
     * when a run starts.
     */
    static <T> Key<T> freeOnResume(String name, ValueType<T> type, String help) {
        return new Key<>(name, type, help, false, Optional.empty(), Optional.empty(), List.of());
    }

    /** This key, with {@code value} where it is not given. */
    Key<T> defaultsTo(T value) {
        return new Key<>(name, type, help, fixed, Optional.of(value), option, noEffects);
    }

    /** This key, with no value where it is not given or given as {@code None}. */
    Key<Optional<T>> optional() {
        return new Key<>(name, type.optional(), help, fixed, Optional.of(Optional.empty()), option, noEffects);
    }

    /** This key, with the command-line option {@code --NAME}. */
    Key<T> asOption() {
        return asOption(type.label());
    }

    /** This key, with the command-line option {@code --NAME} and, in the help, {@code label} for the value. */
    Key<T> asOption(String label, String... aliases) {
        return new Key<>(name, type, help, fixed, absent, Optional.of(new KeyOption(label, List.of(aliases))),
            noEffects);
    }

    /** This key, of which the log says that it has no effect there if it is given. */
    Key<T> noEffect(NoEffect.Where where, String reason) {
        return with(new NoEffect(where, Optional.empty(), reason));
    }

    /** This key, of which the log says that {@code value} has no effect there. */
    Key<T> noEffect(NoEffect.Where where, T value, String reason) {
        return with(new NoEffect(where, Optional.of(value), reason));
    }

    private Key<T> with(NoEffect further) {
        List<NoEffect> all = new ArrayList<>(noEffects);
        all.add(further);
        return new Key<>(name, type, help, fixed, absent, option, List.copyOf(all));
    }

    /** Whether its option takes no value: it is false unless it is given. */
    public boolean isSwitch() {
        return type == ValueType.FLAG && absent.equals(Optional.of(false));
    }

    /** The help and the default. Those of switches and of optional keys are left out: their help says enough. */
    public String description() {
        return help + absent.filter(value -> !isSwitch() && !value.equals(Optional.empty()))
            .map(value -> " Default: " + asTyped(value) + ".").orElse("");
    }

    /** A value as a user types it. */
    private static String asTyped(Object value) {
        return switch (value) {
            case Boolean truth -> truth.toString();
            case Double number -> BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
            default -> PythonFormat.str(value);
        };
    }
}
