package org.isobar.verify.contract;

/** A back end does not do what the contract of its operations says. The message tells which case and by how much. */
public final class ContractViolation extends AssertionError {
    private static final long serialVersionUID = 1L;

    /** A violation found by the case named in the message. */
    public ContractViolation(String message) {
        super(message);
    }
}
