package org.isobar.backend.cuda;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.isobar.backend.cuda.CudaOptions.Fusion;
import org.isobar.backend.cuda.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.verify.Case;
import org.isobar.verify.ContractViolation;
import org.isobar.verify.TensorOpsContract;

/**
 * The contract of one operation with a mistake in a kernel: a program of its own, for a device that has failed serves
 * its process no more.
 */
public final class MutatedContract {
    /** Exit status: a case failed, or the machine complained. */
    static final int FOUND = 10;
    /** Exit status: every case holds. */
    static final int NOT_FOUND = 11;

    private MutatedContract() { }

    /**
     * One small mistake in a kernel.
     *
     * @param file      of the kernels, or of what they include
     * @param right     what stands there
     * @param wrong     what stands there instead
     * @param operation whose contract must fail
     * @param fusion    with which the kernel runs
     */
    record Mutation(String file, String right, String wrong, String operation, Fusion fusion) {
        Mutation(String file, String right, String wrong, String operation) {
            this(file, right, wrong, operation, Fusion.SEPARATE);
        }

        KernelSource apply(KernelSource source) {
            Map<String, String> headers = new HashMap<>(source.headers());
            headers.computeIfPresent(file, (name, text) -> text.replace(right, wrong));
            String text = source.file().equals(file) ? source.text().replace(right, wrong) : source.text();
            return new KernelSource(source.file(), text, headers);
        }

        /** For the command line of this program. */
        List<String> arguments() {
            return List.of(file, right, wrong, operation, fusion.name());
        }

        @Override
        public String toString() {
            return operation + ", " + file + ": " + (wrong.isBlank() ? "nothing" : wrong.strip()) + " for "
                + right.strip();
        }
    }

    /** Takes a mutation's {@link Mutation#arguments}. */
    public static void main(String[] arguments) {
        Mutation mutation = new Mutation(arguments[0], arguments[1], arguments[2], arguments[3],
            Fusion.valueOf(arguments[4]));
        CudaOptions options = new CudaOptions(mutation.fusion(), SinglePrecision.FULL, QueryGradient.DETERMINISTIC);
        BareDevice device = new BareDevice(options, mutation::apply);
        for (Case one : TensorOpsContract.cases(device)) {
            if (one.operation().equals(mutation.operation())) {
                String complaint = complaint(one, device);
                if (!complaint.isEmpty()) {
                    System.out.println(complaint);
                    Runtime.getRuntime().halt(FOUND);
                }
            }
        }
        Runtime.getRuntime().halt(NOT_FOUND);
    }

    /** What is wrong, or nothing. A source that does not compile is no finding. */
    private static String complaint(Case one, BareDevice device) {
        try {
            one.run(device);
            return "";
        } catch (ContractViolation | CudaException found) {
            if (found.getMessage().contains("does not compile")) {
                throw found;
            }
            return found.getMessage();
        }
    }
}
