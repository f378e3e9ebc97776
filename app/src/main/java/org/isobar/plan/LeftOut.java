package org.isobar.plan;

/**
 * Layouts that are impossible.
 *
 * @param what   which
 * @param reason why
 */
public record LeftOut(String what, String reason) { }
