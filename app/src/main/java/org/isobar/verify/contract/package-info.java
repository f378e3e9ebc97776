/** The contract tests of the operations: each operation of any back end against a double-precision reference. */
package org.isobar.verify.contract;
