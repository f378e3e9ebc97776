/** What a tensor is: type, shape and a place in memory. No mathematics. */
package org.isobar.tensor;
