/** The contract of the operations: each one, on any back end, against double precision. */
package org.isobar.verify.contract;
