/** The checks that ship: what a back end must do, asserted on the machine at hand without a test framework. */
package org.isobar.verify;
