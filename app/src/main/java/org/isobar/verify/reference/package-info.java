/** The operations in double precision on plain arrays, as the formulas stand. */
package org.isobar.verify.reference;
