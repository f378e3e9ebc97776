/** Reference implementations of the operations in double precision on plain arrays, directly from the formulas. */
package org.isobar.verify.reference;
