package org.isobar.verify.contract;

/**
 * Reports that a back end violates the contract of an operation. The message names the case and the size of the error.
 */
public final class ContractViolation extends AssertionError {
    private static final long serialVersionUID = 1L;

    /** Creates a violation found by the case named in the message. */
    public ContractViolation(String message) {
        super(message);
    }
}
